"""Runs one server of the Model Context Protocol in the sandbox and sends requests to it, as the guest. Arguments: the name of the server,
then its program. Its clients (as_guest/server_request.py) each bring one request: a line of JSON with `id`, `method`, `params`, and, when their worker
answers questions of the server during the request, `channel`: the path of a socket and a token.

Reports to a client are lines of JSON: `restarted` where an earlier server had ended, `made` once the server has the request, `progress`, `ask`
(the server asks a person or the model, by its `method`; the client sends a line with its `number` and the `answer`), and last `answer`, `error`,
`failed` (the request was not made) or `gone` (the server ended during it). The request of a client that disconnects is cancelled.

The server may ask the model where the variable LONGSHORE_MCP_SAMPLING is set.

Stdout gets a line whenever the server's tools, or resources that it is subscribed to, may have changed: when its length has grown, the worker looks at
them again."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time

# In isolated mode, the search path lacks the directory of this program.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import guest_socket
from mcp_newer import StartAgain
from mcp_process import PROBE, ServerProcess
from mcp_request import Request
from mcp_words import tell_change

# A server that could not be started is not tried again sooner.
_PATIENCE = 2.0


class ServerStarter:
    """The running server, or its successor after it has ended; the next request starts it."""

    def __init__(self, name: str, program: list[str]) -> None:
        self._name = name
        self._program = program
        self._lock = threading.Lock()
        self._server: ServerProcess | None = None
        self._failure = ''
        self._failed_at = float('-inf')
        self._probe: float | None = PROBE

    def bring(self, request: Request) -> ServerProcess | None:
        """Returns the initialized server for the request; None when there is none. The request then has a report of that."""
        with self._lock:
            server = former = self._server
            if server is None or server.ended.is_set():
                if time.monotonic() - self._failed_at > _PATIENCE:
                    self._start()
                server = self._server
                if server is None or server is former:
                    request.tell('gone' if request.rounds else 'failed', why=self._failure)
                    return None
                if former is not None:
                    tell_change('the server was started again')
                    request.tell('restarted', why=former.why)
        server.ask(request)
        return server

    def _start(self) -> None:
        server = None
        try:
            server = ServerProcess(self._program, self.bring)
            try:
                server.greet(self._probe)
            except StartAgain as again:
                server.stop('')
                self._probe = again.probe
                server = ServerProcess(self._program, self.bring)
                server.greet(self._probe)
        except (OSError, RuntimeError) as problem:
            if server is not None:
                server.stop('')
            self._probe = PROBE
            self._failure = str(problem)
            self._failed_at = time.monotonic()
            print(f'{self._name} cannot be used: {problem}', file=sys.stderr, flush=True)
        else:
            self._server = server


def main(name: str, program: list[str]) -> None:
    listener = guest_socket.listen(f'mcp-{name}')
    starter = ServerStarter(name, program)
    for client, line in guest_socket.Requests(listener):
        try:
            threading.Thread(target=_serve, args=(client, line, starter), daemon=True).start()
        except RuntimeError:
            # The sandbox has no room for another thread; the client is told that its request was not made.
            client.close()


def _serve(client: socket.socket, line: bytes, starter: ServerStarter) -> None:
    # A request that our client cannot have sent gets no answer.
    with client, contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        asked = json.loads(line)
        channel = {'longshore/channel': asked['channel']} if 'channel' in asked else {}
        params = {**asked['params'], '_meta': {'progressToken': asked['id'], **channel}}
        request = Request(asked['id'], asked['method'], params, asks=asked.get('asks') is True)
        if starter.bring(request) is not None:
            threading.Thread(target=_watch, args=(client, request), daemon=True).start()
        while (told := request.lines.get()) is not None:
            client.sendall(told)
        client.shutdown(socket.SHUT_RDWR)


def _watch(client: socket.socket, request: Request) -> None:
    with contextlib.suppress(OSError), client.makefile('rb') as lines:
        for line in lines:
            # What our client cannot have sent is left out.
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                answered = json.loads(line)
                if request.server is not None:
                    request.server.answer(request, answered['number'], answered['answer'])
    if not request.over:
        if request.server is not None:
            request.server.cancel(request)
        request.lines.put(None)


main(sys.argv[1], sys.argv[2:])
