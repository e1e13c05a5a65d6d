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


async def carry_out(client, request):
    """One request: the name of a method, and what it takes."""
    progress = []

    async def heard(done, total, message):
        progress.append([done, total, message])

    kind, words = request["method"], request.get("words", {})
    if kind == "tools":
        return (await client.list_tools()).model_dump(mode="json")
    if kind == "resources":
        return (await client.list_resources()).model_dump(mode="json")
    if kind == "read":
        return (await client.read_resource(words["uri"])).model_dump(mode="json")
    # A call that the client gives up is cancelled on the server.
    limit = request.get("give_up_after")
    call = client.call_tool(request["tool"], words, read_timeout_seconds=limit, progress_callback=heard)
    result = (await call).model_dump(mode="json")
    return {**result, "progress": progress}


async def carry_out_with_fastmcp(client, request):
    """The same with FastMCP's client."""
    kind, words = request["method"], request.get("words", {})
    if kind == "tools":
        return (await client.list_tools_mcp()).model_dump(mode="json")
    if kind == "resources":
        return (await client.list_resources_mcp()).model_dump(mode="json")
    if kind == "read":
        return (await client.read_resource_mcp(words["uri"])).model_dump(mode="json")
    return (await client.call_tool_mcp(request["tool"], words)).model_dump(mode="json")


def python_names(value):
    """What the inspector prints is in the protocol's own names; the SDK has Python's."""
    if isinstance(value, list):
        return [python_names(one) for one in value]
    if not isinstance(value, dict):
        return value
    names = {"structuredContent": "structured_content", "isError": "is_error", "outputSchema": "output_schema"}
    return {names.get(key, key): python_names(one) for key, one in value.items()}


async def carry_out_with_inspector(address, request):
    """The same with the inspector's command line, which is started for each request."""
    kind, words = request["method"], request.get("words", {})
    methods = {"tools": "tools/list", "resources": "resources/list", "read": "resources/read", "call": "tools/call"}
    asked = ["--method", methods[kind]]
    if kind == "read":
        asked += ["--uri", words["uri"]]
    if kind == "call":
        asked += ["--tool-name", request["tool"], "--tool-args-json", json.dumps(words)]
    program = os.environ["INSPECTOR"].split()
    process = await asyncio.create_subprocess_exec(
        *program, "--cli", "--format", "json", "--quiet", *address, *asked, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    printed, complaint = await process.communicate()
    if not printed:
        raise RuntimeError(json.loads(complaint)["error"]["message"])
    result = json.loads(printed)["result"]
    # Structured content is the tool's own, whatever its names.
    structured = result.get("structuredContent")
    result = python_names(result)
    return result | ({"structured_content": structured} if structured is not None else {})


async def converse(greeting, carry_out, client):
    said(greeting)
    reader = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        try:
            said({"result": await carry_out(client, json.loads(line))})
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
        await converse({"protocol": client.protocol_version, "server": server}, carry_out, client)


async def main_of_fastmcp(url, token):
    from fastmcp import Client

    async with Client(url, auth=token) as client:
        await converse({"client": "fastmcp"}, carry_out_with_fastmcp, client)


async def main_of_the_inspector(url, token):
    address = ["--server-url", url, "--transport", "http", "--header", f"Authorization: Bearer {token}"]
    await converse({"client": "inspector"}, carry_out_with_inspector, address)


MODE, TRANSPORT, *WORDS = sys.argv[1:]
if MODE == "fastmcp":
    asyncio.run(main_of_fastmcp(*WORDS))
elif MODE == "inspector":
    asyncio.run(main_of_the_inspector(*WORDS))
else:
    asyncio.run(main_of_the_sdk(MODE, TRANSPORT, *WORDS))
