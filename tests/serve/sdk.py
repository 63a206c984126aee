"""Uses the server with the official Python SDK for MCP: lists and calls every tool, reads resources and prompts.

    sdk.py stdio PROGRAM | sdk.py http URL TOKEN
"""

import asyncio
import os
import sys
import warnings

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

# Subscriptions have another form from 2026-07-28 on; servers of earlier versions keep this one.
warnings.filterwarnings("ignore", message="resources/")

# Arguments with which each tool succeeds, and a text of its answer.
CALLS = {
    "search_sessions": ({"q": "lantern"}, "lantern"),
    "list_sessions": ({"limit": 5}, "root:game:demo"),
    "get_session": ({"session": "demo"}, "root:game:demo"),
    "get_overview": ({"session": "demo"}, "speakers"),
    "search_context": ({"q": "lantern", "tokens": 200}, "root:game:demo#1"),
    "find_changes": ({"session": "demo", "path": "gate", "value": "open"}, "world.gate"),
    "compare_sessions": ({"left": "demo", "right": "demo"}, "common"),
    "get_branch_graph": ({"session": "demo"}, "nodes"),
    "get_entries": ({"session": "demo", "last": 1}, "lantern"),
    "get_context": ({"session": "demo", "tokens": 200}, "root:game:demo#1"),
    "get_state": ({"session": "demo", "path": "world.gate"}, "open"),
    "get_diff": ({"session": "demo", "from": 0}, "gate"),
    "get_timeline": ({"session": "demo"}, "player"),
    "list_branches": ({"session": "demo"}, "forks"),
    "add_mark": ({"session": "demo", "name": "here"}, "here"),
    "fork_session": ({"session": "demo", "turn": 1}, "session"),
    "append_turn": ({"session": "tale", "data": {"type": "narrator", "text": "Dawn."}}, "turn"),
}


async def use(streams):
    async with ClientSession(*streams[:2]) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        names = {tool.name for tool in tools}
        assert names == set(CALLS), names ^ set(CALLS)
        for name, (arguments, expected) in CALLS.items():
            result = await session.call_tool(name, arguments)
            text = result.content[0].text
            assert not result.is_error and expected in text, f"{name}: {text}"
            refused = await session.call_tool(name, {**arguments, "no_such_argument": 1})
            assert refused.is_error, name
        resources = (await session.list_resources()).resources
        demo = next(one for one in resources if "demo" in str(one.uri))
        read = await session.read_resource(str(demo.uri))
        assert "lantern" in read.contents[0].text
        await session.subscribe_resource(str(demo.uri))
        await session.unsubscribe_resource(str(demo.uri))
        prompts = (await session.list_prompts()).prompts
        for prompt in prompts:
            values = {"session": "demo", "turn": "1"}
            wanted = {argument.name: values[argument.name] for argument in prompt.arguments}
            answer = await session.get_prompt(prompt.name, wanted)
            assert "lantern" in answer.messages[0].content.text, prompt.name
        print(f"MCP SDK, {sys.argv[1]}: {len(tools)} tools, {len(resources)} resources, {len(prompts)} prompts")


async def main():
    if sys.argv[1] == "stdio":
        words = StdioServerParameters(command=sys.argv[2], args=["mcp", "--allow-writes"], env=dict(os.environ))
        async with stdio_client(words) as streams:
            await use(streams)
    else:
        headers = {"Authorization": f"Bearer {sys.argv[3]}"}
        async with httpx2.AsyncClient(headers=headers) as client:
            async with streamable_http_client(sys.argv[2], http_client=client) as streams:
                await use(streams)


asyncio.run(main())
