"""Sends one piece of code to a context and passes on its reports. Runs as the guest; argument: the name of the context. The
request is the line on stdin.

When this program is ended, the code is interrupted; code that ignores the interrupt is ended with its context."""

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
    from typing import Any, TypedDict

    class _State(TypedDict):
        pid: int
        deadline: float | None


_PATIENCE = 1.5

# The context's own environment is that of its first piece; each piece has its own token for calls of tools.
_PASSED_ON = ('LONGSHORE_TOOLS', 'LONGSHORE_TOOLS_TOKEN', 'LONGSHORE_GUEST')


def main(context: str) -> None:
    request = _with_tools(json.loads(sys.stdin.buffer.readline()))
    connection = guest_socket.connect(context) or sys.exit('the context did not start in time')
    state: _State = {'pid': 0, 'deadline': None}
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        # If it has just ended, the first read shows it.
        connection.sendall(request)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            state['deadline'] = state['deadline'] or time.monotonic() + _PATIENCE
        if state['pid']:
            _signal(state['pid'], signal.SIGINT)
        else:
            # It waits for another piece of code, and has not begun.
            os._exit(0)

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    _follow(connection, state)


def _with_tools(request: dict[str, Any]) -> bytes:
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return json.dumps({**request, 'env': {**(request.get('env') or {}), **env}}).encode() + b'\n'


def _follow(connection: socket.socket, state: _State) -> None:
    incoming = b''
    connection.settimeout(0.1)
    ended = False
    while not ended:
        if state['deadline'] is not None and time.monotonic() > state['deadline']:
            _signal(state['pid'], signal.SIGKILL)
            state['deadline'] = None
            guest_socket.await_end(state['pid'])
        try:
            data = connection.recv(65536)
        except TimeoutError:
            continue
        except ConnectionResetError:
            data = b''
        if not data:
            break
        incoming += data
        if not state['pid'] and b'\n' in incoming:
            state['pid'] = json.loads(incoming[: incoming.index(b'\n')]).get('pid', 0)
        complete = incoming.rfind(b'\n') + 1
        if complete:
            guest_socket.tell(incoming[:complete])
            ended = incoming.rfind(b'{"type": "ended"', 0, complete) >= 0 and _is_end(incoming[:complete])
            incoming = incoming[complete:]
    if not ended:
        guest_socket.await_end(state['pid'] or guest_socket.peer_of(connection))
        guest_socket.tell(b'{"type": "gone"}\n')


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _is_end(lines: bytes) -> bool:
    return bool(json.loads(lines.splitlines()[-1]).get('type') == 'ended')


main(sys.argv[1])
