"""Servers of the Model Context Protocol, as their keepers have them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

import mcp_process
from mcp_process import ServerProcess
from mcp_request import Request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# A server that speaks as the script says: `answer(result)`, `refuse(code, message, data)` and `say(message)` are there, and what it was sent as `sent`.
PRELUDE = """
import json, sys
PREFIX = 'io.modelcontextprotocol/'
def say(message): print(json.dumps({'jsonrpc': '2.0', **message}), flush=True)
def answer(result, kind='complete'): say({'id': sent['id'], 'result': {'resultType': kind, **result}})
def refuse(code, message, data=None): say({'id': sent['id'], 'error': {'code': code, 'message': message, 'data': data}})
def greet(): say({'id': sent['id'], 'result': {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'older'}}})
def discover(): answer({'supportedVersions': ['2026-07-28'], 'capabilities': {'tools': {}, 'resources': {'subscribe': True}},
                        '_meta': {PREFIX + 'serverInfo': {'name': 'newer'}}})
for line in sys.stdin:
    sent = json.loads(line)
    method, params = sent['method'], sent.get('params', {})
    meta = params.get('_meta', {})
"""
NEWER = "    if method == 'server/discover': discover()\n"


class Desk:
    """Starts servers, and asks them."""

    def __init__(self) -> None:
        self.server: ServerProcess | None = None
        self.started: list[ServerProcess] = []

    def start(self, script: str, probe: float | None = mcp_process.PROBE) -> ServerProcess:
        server = ServerProcess([sys.executable, '-c', PRELUDE + script], self.again)
        self.server = server
        self.started.append(server)
        server.greet(probe)
        return server

    def again(self, request: Request) -> None:
        assert self.server is not None
        self.server.ask(request)

    def ask(self, method: str = 'tools/call', params: dict[str, Any] | None = None, asks: bool = True) -> Request:
        request = Request('call-1', method, params or {}, asks)
        self.again(request)
        return request


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    for server in desk.started:
        server.stop('the test is over')


def report(request: Request, kind: str) -> dict[str, Any]:
    """The next report."""
    told: dict[str, Any] = json.loads(request.lines.get(timeout=20) or b'{}')
    assert told.get('type') == kind, told
    return told
