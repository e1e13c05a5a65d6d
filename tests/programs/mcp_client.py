"""A client of headroom's MCP server, for tests/harness/mcp.rs.

    mcp_client.py MODE stdio PROGRAM WORD...      MODE: auto, legacy or a revision, of the protocol's own Python SDK
    mcp_client.py MODE http URL TOKEN             MODE: as above, `fastmcp`, or `inspector` with its program in INSPECTOR

Reads a request in JSON from each line of its standard input, and prints what came of it on a line: first what the server is.
"""

import asyncio
import contextlib
import json
import os
import sys


def said(value):
    print(json.dumps(value), flush=True)


async def carry_out(methods, request):
    """One request: the name of a method, and what it takes. `methods` are the client's own."""
    progress = []

    async def heard(done, total, message):
        progress.append([done, total, message])

    kind, words = request["method"], request.get("words", {})
    if kind in ("tools", "resources"):
        return await methods[kind]()
    if kind == "read":
        return await methods[kind](words["uri"])
    # A call that the client gives up is cancelled on the server.
    result = await methods[kind](request["tool"], words, request.get("give_up_after"), heard)
    return {**result, "progress": progress}


def dumped(method):
    """A method of a library, which answers with a model."""

    async def called(*words, **named):
        return (await method(*words, **named)).model_dump(mode="json")

    return called


def methods_of_the_sdk(client):
    call = dumped(client.call_tool)
    return {
        "tools": dumped(client.list_tools),
        "resources": dumped(client.list_resources),
        "read": dumped(client.read_resource),
        "call": lambda tool, words, limit, heard: call(tool, words, read_timeout_seconds=limit, progress_callback=heard),
    }


def methods_of_fastmcp(client):
    call = dumped(client.call_tool_mcp)
    return {
        "tools": dumped(client.list_tools_mcp),
        "resources": dumped(client.list_resources_mcp),
        "read": dumped(client.read_resource_mcp),
        "call": lambda tool, words, limit, heard: call(tool, words, timeout=limit, progress_handler=heard),
    }


def python_names(value):
    """What the inspector prints is in the protocol's own names; the SDK has Python's."""
    if isinstance(value, list):
        return [python_names(one) for one in value]
    if not isinstance(value, dict):
        return value
    names = {"structuredContent": "structured_content", "isError": "is_error", "outputSchema": "output_schema"}
    return {names.get(key, key): python_names(one) for key, one in value.items()}


def methods_of_the_inspector(address):
    """Its command line is started for each request, and has no progress."""

    async def ask(method, *words):
        program = os.environ["INSPECTOR"].split()
        asked = [*program, "--cli", "--format", "json", "--quiet", *address, "--method", method, *words]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*asked, stdout=pipe, stderr=pipe)
        printed, complaint = await process.communicate()
        if not printed:
            raise RuntimeError(json.loads(complaint)["error"]["message"])
        result = json.loads(printed)["result"]
        # Structured content is the tool's own, whatever its names.
        own = {"structured_content": result["structuredContent"]} if "structuredContent" in result else {}
        return python_names(result) | own

    return {
        "tools": lambda: ask("tools/list"),
        "resources": lambda: ask("resources/list"),
        "read": lambda uri: ask("resources/read", "--uri", uri),
        "call": lambda tool, words, *_: ask("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(words)),
    }


async def converse(greeting, methods):
    said(greeting)
    reader = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        try:
            said({"result": await carry_out(methods, json.loads(line))})
        except Exception as error:  # the test says which is right
            said({"error": f"{type(error).__name__}: {error}"})


async def main_of_the_sdk(mode, transport, *words):
    import httpx2
    from mcp import Client, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client

    async with contextlib.AsyncExitStack() as stack:
        if transport == "stdio":
            program, *words = words
            server = StdioServerParameters(command=program, args=words, env=dict(os.environ))
        else:
            url, token = words
            headers = {"Authorization": f"Bearer {token}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
            server = streamable_http_client(url, http_client=http)
        client = await stack.enter_async_context(Client(server, mode=mode, cache=None))
        server = client.server_info.model_dump(mode="json")
        await converse({"protocol": client.protocol_version, "server": server}, methods_of_the_sdk(client))


async def main_of_fastmcp(url, token):
    from fastmcp import Client

    async with Client(url, auth=token) as client:
        await converse({"client": "fastmcp"}, methods_of_fastmcp(client))


async def main_of_the_inspector(url, token):
    address = ["--server-url", url, "--transport", "http", "--header", f"Authorization: Bearer {token}"]
    await converse({"client": "inspector"}, methods_of_the_inspector(address))


MODE, TRANSPORT, *WORDS = sys.argv[1:]
if MODE == "fastmcp":
    asyncio.run(main_of_fastmcp(*WORDS))
elif MODE == "inspector":
    asyncio.run(main_of_the_inspector(*WORDS))
else:
    asyncio.run(main_of_the_sdk(MODE, TRANSPORT, *WORDS))
