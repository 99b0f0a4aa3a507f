"""A local server that speaks the part of OpenAI's chat completions that a client needs.

What it answers is a script: one step for each request, in order; the last one is repeated.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from devops_bench.core.json import JsonObject

USAGE: JsonObject = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


@dataclass(frozen=True)
class Step:
    """What one request is answered with.

    Attributes:
        text: The answer's text.
        calls: Tools to call: name and arguments.
        refusal: The text of a refusal.
        finish: The finish reason, where it is not the natural one.
        status: An error status instead of an answer.
        message: The message of an error.
        code: The code of an error.
        cut: Whether the stream ends before the model says why it stopped.
        stated: Whether the server says how many tokens it took.
        body: What comes instead of a stream, with status 200.
        stall_after: Pieces after which nothing more comes, until the server ends.
    """

    text: str = ""
    calls: tuple[tuple[str, JsonObject], ...] = ()
    refusal: str = ""
    finish: str | None = None
    status: int = 200
    message: str = ""
    code: str | None = None
    cut: bool = False
    stated: bool = True
    body: str = ""
    stall_after: int | None = None


@dataclass
class Server:
    """A server at work.

    Attributes:
        steps: Its script.
        requests: The bodies of the requests so far.
        stalled: Set when it has stalled.
        released: Set to let what has stalled end.
    """

    steps: tuple[Step, ...]
    requests: list[JsonObject] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    stalled: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    url: str = ""


@contextmanager
def serving(*steps: Step) -> Iterator[Server]:
    """Serve a script on a free port."""
    server = Server(steps)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append(body)
            server.authorizations.append(self.headers["Authorization"])
            step = server.steps[min(len(server.requests), len(server.steps)) - 1]
            if step.status != 200:
                error: JsonObject = {"message": step.message or "no", "code": step.code}
                self._whole(step.status, json.dumps({"error": error}))
            elif step.body:
                self._whole(200, step.body)
            else:
                self._stream(step)

        def _whole(self, status: int, body: str) -> None:
            data = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, step: Step) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for number, piece in enumerate(_pieces(step, len(server.requests))):
                if step.stall_after is not None and number >= step.stall_after:
                    server.stalled.set()
                    server.released.wait(60)
                    return
                self.wfile.write(b"data: " + json.dumps(piece).encode() + b"\n\n")
                self.wfile.flush()
            if not step.cut:
                self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            http.shutdown()
            thread.join()


def _pieces(step: Step, number: int) -> Iterator[JsonObject]:
    def piece(delta: JsonObject, finish: str | None = None) -> JsonObject:
        return {
            "id": f"c{number}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "local",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    yield piece({"role": "assistant", "content": ""})
    for word in step.text.split(" ") if step.text else ():
        yield piece({"content": word + " "})
    if step.refusal:
        yield piece({"refusal": step.refusal})
    for index, (name, arguments) in enumerate(step.calls):
        call: JsonObject = {
            "index": index,
            "id": f"call-{number}-{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        yield piece({"tool_calls": [call]})
    if step.cut:
        return
    yield piece({}, step.finish or ("tool_calls" if step.calls else "stop"))
    if step.stated:
        yield {**piece({}), "choices": [], "usage": USAGE}


DONE = Step(text="I mended it.")


def calling(tool: str, **arguments: str) -> Step:
    return Step(calls=((tool, {**arguments}),))
