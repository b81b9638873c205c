"""Runs one server of the Model Context Protocol in the sandbox and sends requests to it, as the guest. Arguments: the name of the server,
then its program. Its clients (mcp_clients.py) each bring one request: a line of JSON with `id`, `method`, `params`, and `hasChannel` where the server itself
asks the worker.

Reports to a client are lines of JSON: `restarted` where an earlier server had ended, `progress`, and last `answer`, `error`,
`failed` (the request was not made) or `gone` (the server ended during it). The request of a client that disconnects is cancelled. What the server asks
a person or the model during it is asked by way of the supervisor.

The server may ask the model where the variable LONGSHORE_MCP_SAMPLING is set.

Stdout gets a line whenever the server's tools, or resources that it is subscribed to, may have changed: when its length has grown, the worker looks at
them again."""

from __future__ import annotations

import os
import sys
import threading
import time

# In isolated mode, the search path lacks the directory of this program.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import guest_socket
from mcp_clients import ClientRequest, Clients
from mcp_newer import StartAgain
from mcp_process import PROBE, ServerProcess
from mcp_words import tell_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_request import Request

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

    @property
    def is_up(self) -> bool:
        """Whether a request can be brought without waiting."""
        server = self._server
        return server is not None and not server.ended.is_set() and not self._lock.locked()

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
    starter = ServerStarter(name, program)

    def bring(request: ClientRequest) -> None:
        # What our supervisor cannot have sent.
        try:
            starter.bring(request)
        except (TypeError, ValueError, RecursionError) as problem:
            request.tell('failed', why=f'it cannot be sent: {problem}')

    def begin(request: ClientRequest) -> None:
        if starter.is_up:
            bring(request)
            return
        try:
            threading.Thread(target=bring, args=(request,), daemon=True).start()
        except RuntimeError:
            request.tell('failed', why='the sandbox has no room for another thread')

    Clients(guest_socket.listen(f'mcp-{name}'), begin, _cancel).serve()


def _cancel(request: ClientRequest) -> None:
    if request.server is not None:
        request.server.cancel(request)
    # It may be waiting for the start of the server.
    request.over = True


main(sys.argv[1], sys.argv[2:])
