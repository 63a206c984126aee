"""A stand-in for model endpoints on loopback: Anthropic messages, OpenAI responses and chat completions, Gemini.

The last message of the user decides the answer:

    use a tool       a thought, a text and one call of the shell, then a closing text
    use two tools    two calls at once
    long answer      forty paragraphs
    fail             an error of the server
    anything else    a thought and "Reply to: TEXT"

Every request is kept in `Standin.requests`, so that a test can look at the history that a program sends.
"""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The names of shell tools, and the argument that holds the command.
SHELLS = {
    "Bash": "command", "bash": "command", "shell": "command", "shell_command": "command",
    "exec_command": "cmd", "run_shell_command": "command", "developer__shell": "command",
}


class Step:
    """What the model does next: thoughts, texts and calls, in this order."""

    def __init__(self, text, thought=None, calls=()):
        self.text, self.thought, self.calls = text, thought, list(calls)


def decide(asked, answered, tools, number):
    """The next step, given the last question and how many results of tools followed it."""
    asked = asked.strip()
    shell = next((name for name in tools if name in SHELLS), None)
    call = lambda word: (shell, {SHELLS[shell]: f"echo {word}", "description": "Print a word"})
    if answered:
        return Step(f"Reply to: {asked[-60:]}")
    if "use two tools" in asked and shell:
        return Step("Both at once.", "Two are needed.", [call("first"), call("second")])
    if "use a tool" in asked and shell:
        return Step("One moment.", "A tool is needed.", [call("one")])
    if "long answer" in asked:
        return Step("\n\n".join(f"Paragraph {at} of {number}." for at in range(40)))
    return Step(f"Reply to: {asked[-60:]}", "Nothing special.")


def texts(content):
    """The texts of a message's content, in any of the protocols."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def last_question(messages):
    """The last text of the user in a list of (role, text, is_result), and the number of results after it."""
    asked, answered = "", 0
    for role, text, is_result in messages:
        if is_result:
            answered += 1
        elif role == "user" and text.strip() and not text.lstrip().startswith("<"):
            asked, answered = text, 0
    return asked, answered


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def body(self):
        length = self.headers.get("content-length")
        if length is not None:
            data = self.rfile.read(int(length))
        else:
            data = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        if self.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        return json.loads(data or b"{}")

    def answer(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events, named=True, done=None):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            name = f"event: {event['type']}\n" if named else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        if done:
            self.wfile.write(f"data: {done}\n\n".encode())

    def do_GET(self):
        self.answer({"object": "list", "data": [{"id": "model", "object": "model"}], "models": []})

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self):
        request, path = self.body(), self.path.split("?")[0]
        number = self.server.standin.note(path, request)
        try:
            if path.endswith("/messages"):
                self.anthropic(request, number)
            elif path.endswith("/responses"):
                self.openai_responses(request, number)
            elif path.endswith("/chat/completions"):
                self.completions(request, number)
            elif "GenerateContent" in path or path.endswith(":generateContent"):
                self.gemini(request, number, "stream" in path)
            elif "ount" in path:
                self.answer({"input_tokens": 10, "totalTokens": 10})
            else:
                self.answer({})
        except BrokenPipeError:
            pass

    def step(self, messages, tools, number):
        asked, answered = last_question(messages)
        return None if asked.strip() == "fail" else decide(asked, answered, tools, number)

    def anthropic(self, request, number):
        messages = []
        for message in request.get("messages", []):
            content = message["content"]
            results = [part for part in content if part.get("type") == "tool_result"] if isinstance(content, list) else []
            # The program adds reminders of its own to what the user said.
            said = [part for part in content if not part.get("text", "<").startswith("<")] if isinstance(content, list) else content
            messages += [(message["role"], texts(said), False)] + [("user", "", True)] * len(results)
        step = self.step(messages, [tool["name"] for tool in request.get("tools", [])], number)
        if step is None:
            return self.answer({"type": "error", "error": {"type": "api_error", "message": "it fails"}}, 500)
        blocks = []
        if step.thought and request.get("thinking"):
            blocks.append(({"type": "thinking", "thinking": "", "signature": ""},
                           [{"type": "thinking_delta", "thinking": step.thought}, {"type": "signature_delta", "signature": "c2ln"}]))
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": step.text}]))
        for at, (name, arguments) in enumerate(step.calls):
            blocks.append(({"type": "tool_use", "id": f"toolu_{number}_{at}", "name": name, "input": {}},
                           [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}]))
        reason = "tool_use" if step.calls else "end_turn"
        usage = {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 0}
        whole = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": request.get("model"), "content": [],
                 "stop_reason": None, "stop_sequence": None, "usage": usage}
        if not request.get("stream"):
            content = [{**start, **{key: value for delta in deltas for key, value in delta.items() if key in ("text", "thinking", "signature")}}
                       for start, deltas in blocks]
            for block, (_, arguments) in zip([b for b in content if b["type"] == "tool_use"], step.calls):
                block["input"] = arguments
            return self.answer({**whole, "content": content, "stop_reason": reason})
        events = [{"type": "message_start", "message": whole}]
        for index, (start, deltas) in enumerate(blocks):
            events.append({"type": "content_block_start", "index": index, "content_block": start})
            events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": index})
        events += [{"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
                   {"type": "message_stop"}]
        self.stream(events)

    def openai_responses(self, request, number):
        messages = []
        for item in request.get("input", []):
            kind = item.get("type", "message")
            is_result = kind in ("function_call_output", "custom_tool_call_output")
            messages.append((item.get("role", ""), texts(item.get("content", "")), is_result))
        tools = [tool.get("name", "") for tool in request.get("tools", [])]
        step = self.step(messages, tools, number)
        if step is None:
            return self.answer({"error": {"message": "it fails"}}, 500)
        items = []
        if step.thought:
            items.append({"type": "reasoning", "id": f"rs_{number}", "encrypted_content": "ZW5j",
                          "summary": [{"type": "summary_text", "text": step.thought}]})
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                      "content": [{"type": "output_text", "text": step.text, "annotations": []}]})
        for at, (name, arguments) in enumerate(step.calls):
            items.append({"type": "function_call", "id": f"fc_{number}_{at}", "call_id": f"call_{number}_{at}", "name": name,
                          "arguments": json.dumps(arguments), "status": "completed"})
        usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 10}, "output_tokens": 20,
                 "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 120}
        whole = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
        events = [{"type": "response.created", "response": whole}]
        for index, item in enumerate(items):
            events += [{"type": "response.output_item.added", "output_index": index, "item": item},
                       {"type": "response.output_item.done", "output_index": index, "item": item}]
        events.append({"type": "response.completed",
                       "response": {**whole, "status": "completed", "output": items, "usage": usage}})
        self.stream(events)

    def completions(self, request, number):
        messages = [(message["role"], texts(message.get("content") or ""), message["role"] == "tool")
                    for message in request.get("messages", [])]
        tools = [tool["function"]["name"] for tool in request.get("tools", [])]
        step = self.step(messages, tools, number)
        if step is None:
            return self.answer({"error": {"message": "it fails"}}, 500)
        calls = [{"index": at, "id": f"call_{number}_{at}", "type": "function",
                  "function": {"name": name, "arguments": json.dumps(arguments)}}
                 for at, (name, arguments) in enumerate(step.calls)]
        reason = "tool_calls" if calls else "stop"
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        whole = {"id": f"chatcmpl_{number}", "created": 1, "model": request.get("model")}
        message = {"role": "assistant", "content": step.text, **({"tool_calls": calls} if calls else {})}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return self.answer({**whole, "object": "chat.completion", "choices": [choice], "usage": usage})
        chunk = lambda delta, finish=None: {**whole, "object": "chat.completion.chunk",
                                            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        events = [chunk(message), chunk({}, reason),
                  {**whole, "object": "chat.completion.chunk", "choices": [], "usage": usage}]
        self.stream(events, named=False, done="[DONE]")

    def gemini(self, request, number, streams):
        messages = []
        for content in request.get("contents", []):
            parts = content.get("parts", [])
            said = "\n".join(part.get("text", "") for part in parts if not part.get("text", "<").startswith("<"))
            results = sum("functionResponse" in part for part in parts)
            messages += [(content.get("role", "user"), said, False)] + [("user", "", True)] * results
        tools = [tool["name"] for group in request.get("tools", []) for tool in group.get("functionDeclarations", [])]
        step = self.step(messages, tools, number)
        if step is None:
            return self.answer({"error": {"code": 500, "message": "it fails", "status": "INTERNAL"}}, 500)
        parts = [{"text": f"**Plan** {step.thought}", "thought": True}] if step.thought else []
        parts.append({"text": step.text})
        parts += [{"functionCall": {"name": name, "args": arguments}} for name, arguments in step.calls]
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 5, "totalTokenCount": 125}
        whole = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
                 "usageMetadata": usage, "modelVersion": "model"}
        self.stream([whole], named=False) if streams else self.answer(whole)


class Standin:
    """A running stand-in. `address` is its URL, `requests` what it was asked."""

    def __init__(self):
        self.requests, self.lock = [], threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads, self.server.standin = True, self
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def note(self, path, request):
        with self.lock:
            self.requests.append((path, request))
            return len(self.requests)

    def close(self):
        self.server.shutdown()
