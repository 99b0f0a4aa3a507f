"""A server of the Model Context Protocol on standard input and output, standard library only."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

TOOL = {
    "name": "where",
    "description": "Says where it runs.",
    "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}},
}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = answer(request)
            reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
            if result is None:
                reply["error"] = {"code": -32601, "message": "no such method"}
            else:
                reply["result"] = result
            print(json.dumps(reply), flush=True)


def answer(request: dict[str, Any]) -> dict[str, Any] | None:
    if request["method"] == "initialize":
        return {
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "version": "1"},
        }
    if request["method"] == "tools/list":
        return {"tools": [TOOL]}
    if request["method"] == "tools/call":
        word = request["params"]["arguments"].get("word", "")
        text = f"{word} {os.getcwd()} {os.environ.get('MINE')} {os.environ['KUBECONFIG']}"  # noqa: PTH109
        return {"content": [{"type": "text", "text": text}]}
    return {} if request["method"] == "ping" else None


if __name__ == "__main__":
    main()
