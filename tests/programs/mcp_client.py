"""A client of headroom's MCP server with the protocol's own Python SDK, for tests/harness/mcp.rs.

    mcp_client.py MODE stdio PROGRAM WORD...      MODE: auto, legacy or a revision
    mcp_client.py MODE http URL TOKEN

Reads a request in JSON from each line of its standard input, and prints what came of it on a line: first what the server is.
"""

import asyncio
import contextlib
import json
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


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


async def converse(client):
    said({"protocol": client.protocol_version, "server": client.server_info.model_dump(mode="json")})
    reader = asyncio.StreamReader(limit=1 << 24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        try:
            said({"result": await carry_out(client, json.loads(line))})
        except Exception as error:  # the test says which is right
            said({"error": f"{type(error).__name__}: {error}"})


async def main(mode, transport, *words):
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
        await converse(client)


asyncio.run(main(*sys.argv[1:]))
