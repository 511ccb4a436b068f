"""The Python SDK as an MCP client of either protocol era. Same script and output as script.mjs."""

import asyncio
import json
import os
import sys

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

script = json.loads(sys.argv[1])


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


async def progressed(progress, _total, _message):
    say("progress", progress=progress)


async def call(client):
    timeout = script["timeoutMs"] / 1000 if "timeoutMs" in script else None
    callback = progressed if script.get("progress") else None
    result = client.call_tool(script["name"], script["args"], timeout, callback)
    if "cancelAfterMs" in script:
        async with asyncio.timeout(script["cancelAfterMs"] / 1000):
            return await result
    return await result


async def main():
    headers = {**script.get("headers", {}), "Authorization": f"Bearer {script['token']}"}
    mode = "2026-07-28" if script["era"] == "modern" else "legacy"
    transport = streamable_http_client(script["url"], http_client=create_mcp_http_client(headers))
    async with Client(transport, mode=mode) as client:
        await client.list_tools()
        say("connected")
        if "closeAfterMs" in script:
            running = asyncio.create_task(report(client))
            await asyncio.sleep(script["closeAfterMs"] / 1000)
            running.cancel()
        else:
            await report(client)
            if not script.get("stay"):
                os._exit(0)
            await asyncio.sleep(3600)
    await asyncio.sleep(3600)


async def report(client):
    try:
        result = await call(client)
        content = [block.model_dump(mode="json", exclude_none=True) for block in result.content]
        say("result", isError=result.is_error, structured=result.structured_content, content=content)
    except BaseException as error:
        say("error", message=str(error) or type(error).__name__)


asyncio.run(main())
