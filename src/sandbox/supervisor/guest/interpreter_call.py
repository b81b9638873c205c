"""Sends one piece of code to a context and passes on its reports. Runs as the guest; argument: the name of the context. The
request is the line on stdin.

The context says when it is the turn of this client (`turn`), and begins the code when the client answers: a piece whose client has ended before
that never begins. When this program is ended later, the code is interrupted; code that ignores the interrupt is ended with its context."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time

# In isolated mode, the search path lacks the directory of this program.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import guest_socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from types import FrameType
    from typing import Any

_PATIENCE = 1.5
_ENDING = (signal.SIGTERM, signal.SIGINT)
# For a context whose last client was killed. Longer than a busy machine needs to go on to the next client.
_PATIENCE_WITH_THE_DEAD = 10.0

# The context's own environment is that of its first piece; each piece has its own token for calls of tools.
_PASSED_ON = ('LONGSHORE_TOOLS', 'LONGSHORE_TOOLS_TOKEN', 'LONGSHORE_GUEST')


class Piece:
    """One piece of code in its context."""

    def __init__(self, context: str, connection: socket.socket) -> None:
        self._context = context
        self._connection = connection
        self._pid = 0
        """Process id of the context; 0 before it is the turn of this client."""
        self._begun = False
        self._interrupted = False
        self._kill_at: float | None = None

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._pid:
            # The code has not begun, and cannot begin without this client.
            os._exit(0)
        if number == signal.SIGTERM and self._kill_at is None:
            self._kill_at = time.monotonic() + _PATIENCE
        self._interrupted = True
        if self._begun:
            _signal(self._pid, signal.SIGINT)

    def follow(self) -> None:
        self._connection.settimeout(0.1)
        # A line may be long, and comes in pieces.
        incoming: list[bytes] = []
        ended = False
        while not ended:
            self._end_the_stuck()
            try:
                data = self._connection.recv(65536)
            except TimeoutError:
                continue
            except ConnectionResetError:
                data = b''
            if not data:
                break
            complete = data.rfind(b'\n') + 1
            if complete:
                ended = self._pass_on(b''.join((*incoming, data[:complete])))
                incoming = []
            incoming.append(data[complete:])
        if not ended:
            guest_socket.await_end(self._pid or guest_socket.peer_of(self._connection))
            guest_socket.tell(b'{"type": "gone"}\n')
            # Not ended well: the supervisor looks for what has ended the context, such as a lack of memory.
            sys.exit(1)

    def _pass_on(self, reports: bytes) -> bool:
        """True when the code has ended."""
        if not self._pid:
            turn, reports = reports.split(b'\n', 1)
            self._kill_at = None
            self._pid = json.loads(turn)['pid']
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                # If it has just ended, the next read shows it.
                self._connection.sendall(b'\n')
        if not reports:
            return False
        if not self._begun:
            self._begin()
        guest_socket.tell(reports)
        return b'{"type": "ended"' in reports and bool(json.loads(reports.splitlines()[-1]).get('type') == 'ended')

    def _begin(self) -> None:
        # A signal that came before, when the context would have ignored it, takes effect now, and once.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        self._begun = True
        if self._interrupted:
            _signal(self._pid, signal.SIGINT)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)

    def _end_the_stuck(self) -> None:
        now = time.monotonic()
        if not self._pid:
            # Code whose client was killed is interrupted by its context, unless it never waits.
            if not guest_socket.is_left_behind(self._context):
                self._kill_at = None
            elif self._kill_at is None:
                self._kill_at = now + _PATIENCE_WITH_THE_DEAD
        if self._kill_at is not None and now > self._kill_at:
            pid = self._pid or guest_socket.peer_of(self._connection)
            self._kill_at = None
            _signal(pid, signal.SIGKILL)
            guest_socket.await_end(pid, killed=True)


def main(context: str) -> None:
    request = _complete(json.loads(sys.stdin.buffer.readline()))
    connection = guest_socket.connect(context) or sys.exit('the context did not start in time')
    piece = Piece(context, connection)
    for number in _ENDING:
        signal.signal(number, piece.interrupt)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        # If it has just ended, the first read shows it.
        connection.sendall(request)
    piece.follow()


def _complete(request: dict[str, Any]) -> bytes:
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return json.dumps({**request, 'env': {**(request.get('env') or {}), **env}, 'client': guest_socket.this_process()}).encode() + b'\n'


def _signal(pid: int, number: int) -> None:
    # Other numbers would mean groups of processes.
    if pid > 0:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


main(sys.argv[1])
