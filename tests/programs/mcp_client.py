"""A client of headroom's MCP server, for tests/harness/mcp.rs.

    mcp_client.py MODE PROGRAM WORD...      MODE: auto, legacy or a revision, of the protocol's own Python SDK

Reads a request in JSON from each line of its standard input, and prints what came of it on a line: first what the server is.
"""

import asyncio
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


async def main_of_the_sdk(mode, program, words):
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=program, args=words, env=dict(os.environ))
    async with Client(server, mode=mode, cache=None) as client:
        server = client.server_info.model_dump(mode="json")
        await converse({"protocol": client.protocol_version, "server": server}, methods_of_the_sdk(client))


MODE, PROGRAM, *WORDS = sys.argv[1:]
asyncio.run(main_of_the_sdk(MODE, PROGRAM, WORDS))
