//! MCP on stdio and over HTTP.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::client::{Request, Server, everturn, home, run};

/// A client that speaks JSON-RPC, one message per line.
struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Agent {
    fn start(dir: &Path, words: &[&str]) -> Agent {
        let mut child = everturn(dir).arg("mcp").args(words).stdin(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut agent = Agent { child, input, output: BufReader::new(output), next: 0 };
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        let answer = agent.ask("initialize", params);
        assert_eq!(answer["result"]["serverInfo"]["name"], "everturn", "{answer}");
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        loop {
            let answer = self.read();
            if answer["id"] == self.next {
                return answer;
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        answer["result"].clone()
    }

    fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn an_agent_reads_and_does_not_write_by_default() {
    let dir = home();
    let secret = "glpat-Ab3dEf6hIj9lMn2pQr5t";
    let turn = format!(r#"{{"actor":"player","narration":"The lantern token is {secret}."}}"#);
    run(dir.path(), &["append", "demo"], &turn);
    let mut agent = Agent::start(dir.path(), &[]);
    let tools = agent.tools();
    assert!(tools.contains(&"get_entries".to_owned()), "{tools:?}");
    assert!(
        !tools
            .iter()
            .any(|tool| ["append_turn", "add_mark", "fork_session"].contains(&tool.as_str()))
    );
    let refused = agent.ask(
        "tools/call",
        json!({"name": "append_turn", "arguments": {"session": "demo", "data": {}}}),
    );
    assert!(refused["error"].is_object(), "{refused}");
    for (tool, arguments, expect) in [
        ("search_sessions", json!({"q": "lantern"}), "\"turn\":2"),
        ("list_sessions", json!({"limit": 5}), "root:game:demo"),
        ("get_session", json!({"session": "demo"}), "\"turns\":2"),
        ("get_entries", json!({"session": "demo", "from": 2}), "lantern"),
        ("get_context", json!({"session": "demo", "tokens": 500}), "[root:game:demo#2 player]"),
        ("get_state", json!({"session": "demo", "path": "world.gate"}), "open"),
        ("get_diff", json!({"session": "demo", "from": 0}), "gate"),
        ("get_timeline", json!({"session": "demo"}), "\"last\":2"),
        ("list_branches", json!({"session": "demo"}), "forks"),
    ] {
        let result = agent.call(tool, arguments);
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(expect) && result["isError"] != true, "{tool}: {result}");
        assert!(!result.to_string().contains(secret), "{tool}: {result}");
    }
    let missing = agent.call("get_session", json!({"session": "nothing"}));
    assert_eq!(missing["isError"], true, "{missing}");
    let resources = agent.ask("resources/list", json!({}));
    let uri = resources["result"]["resources"][0]["uri"].clone();
    let read = agent.ask("resources/read", json!({"uri": uri}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("You go in.") && !text.contains(secret), "{text}");
    let prompt = agent.ask(
        "prompts/get",
        json!({"name": "summarise_since", "arguments": {"session": "demo", "turn": "2"}}),
    );
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("since turn 2") && !text.contains("You go in."), "{text}");
}

#[test]
fn an_agent_that_may_write_writes_and_is_told_of_changes() {
    let dir = home();
    let mut agent = Agent::start(dir.path(), &["--allow-writes"]);
    let uri = "everturn://session/root%3Agame%3Ademo";
    assert!(agent.ask("resources/subscribe", json!({"uri": uri}))["result"].is_object());
    let stored = agent.call(
        "append_turn",
        json!({"session": "demo", "key": "k1", "data": {"actor": "gm", "narration": "Told."}}),
    );
    assert_eq!(stored["structuredContent"]["turn"], 2, "{stored}");
    let mark = agent.call("add_mark", json!({"session": "demo", "name": "here"}));
    assert_eq!(mark["structuredContent"]["mark"]["turn"], 2, "{mark}");
    let forked =
        agent.call("fork_session", json!({"session": "demo", "new_session": "other", "turn": 1}));
    assert_eq!(forked["structuredContent"]["session"], "other", "{forked}");
    let wrong = agent.call("fork_session", json!({"session": "demo", "typo": 1}));
    assert_eq!(wrong["isError"], true, "{wrong}");
    run(
        dir.path(),
        &["append", "demo", "--wait", "20"],
        r#"{"actor":"gm","narration":"Elsewhere."}"#,
    );
    loop {
        let message = agent.read();
        if message["method"] == "notifications/resources/updated" {
            assert_eq!(message["params"]["uri"], uri);
            break;
        }
    }
    assert!(run(dir.path(), &["show", "demo"], "").contains("Told."));
}

#[test]
fn agents_over_http_need_the_token() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let request = || {
        let request = Request::new("POST", "/mcp").json(&body);
        request.header("Accept", "application/json, text/event-stream")
    };
    assert_eq!(server.send(&request()).status, 401);
    assert_eq!(server.ask(request().host("evil.example")).status, 403);
    assert_eq!(server.ask(request().header("Origin", "http://evil.example")).status, 403);
    let answer = server.ask(request());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(String::from_utf8_lossy(&answer.body).contains("everturn"));
}

#[test]
fn the_configuration_of_clients_is_printed() {
    let dir = home();
    let shown = run(dir.path(), &["mcp", "install", "claude-code"], "");
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["mcpServers"]["everturn"]["args"], json!(["mcp"]));
    let shown = run(dir.path(), &["mcp", "install", "codex", "--allow-writes"], "");
    assert!(shown.starts_with("[mcp_servers.everturn]\ncommand = \"/"), "{shown}");
    assert!(shown.contains(r#"args = ["mcp","--allow-writes"]"#), "{shown}");
}
