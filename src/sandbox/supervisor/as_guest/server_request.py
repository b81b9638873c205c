"""Sends one request to an MCP server of the sandbox and passes on the reports (see guest/mcp_server.py). The request is a line on stdin. When this
process is ended, the request is cancelled: the server sees that its client has disconnected.

A runner that was made ahead becomes this, without executing anything: the start of Python would take ten times as long as all the rest of a request."""

from __future__ import annotations

import _thread
import os
import stat
import struct
import time

from shared.lean_json import dumps, loads
from shared.lean_modules import signal, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

PROGRAM = os.fsencode(os.path.abspath(__file__))
"""Stands for this in the arguments of a command."""

_COMES_UP = 30.0
_COMES_UP_POLL = 0.02
_END_POLLS = 40
_END_POLL = 0.01
_READ_SIZE = 65536
_LENGTH = struct.Struct('>I')
_QUESTION = 'elicitation/create'
_NO_ANSWER = {'ok': {'action': 'cancel'}}
_NOT_ASKED = {'error': {'code': 'TOOL_FAILED', 'message': 'it could not be asked'}}
_CREDENTIALS = struct.Struct('3i')


def run(arguments: Sequence[bytes], env: Mapping[bytes, bytes]) -> NoReturn:
    """For a process that is the guest's already; the first argument is the name of the server."""
    code = 1
    try:
        # As programs in Python have it: a peer that is gone is an error of the write.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        code = _ask(arguments[0], env)
    # Whatever the guest's programs have sent: what is above must not take it for a failure to start.
    except Exception as error:
        _write(2, f'{type(error).__name__}: {error}\n'.encode('utf-8', 'replace'))
    finally:
        os._exit(code)


def _ask(server: bytes, env: Mapping[bytes, bytes]) -> int:
    # A worker that was disconnected while it sent the request sends it again: the first complete line counts.
    with open(0, 'rb', _READ_SIZE, closefd=False) as lines:
        request = next((line for line in lines if _is_whole(line)), None)
    if request is None:
        return 0
    directory = env.get(b'LONGSHORE_CODE') or b'/tmp/.longshore-code-%d' % os.getuid()
    if not _is_own(directory):
        _write(2, directory + b' is not a directory of this user alone; remove it\n')
        return 1
    connection = _connect(os.path.join(directory, b'mcp-%s.sock' % server))
    if connection is None:
        _tell('failed', 'it did not start in time')
        return 0
    request, ask = _with_answers(connection, request, env)
    made, ended = _pass_on(connection, request, ask)
    if not ended:
        _await_end(connection)
        _tell('gone' if made else 'failed', 'the program that runs it was ended')
    return 0


def _is_whole(line: bytes) -> bool:
    text = line.strip()
    try:
        return bool(text) and isinstance(loads(text), dict)
    # What is no JSON makes `loads` ask the standard library, which the guest may not be able to load.
    except (ValueError, ImportError):
        return False


def _with_answers(connection: socket.socket, request: bytes, env: Mapping[bytes, bytes]) -> tuple[bytes, Callable[[bytes], None] | None]:
    """Adds to the request how the server may ask the worker that waits for its answer; also returns what takes such questions from its reports."""
    path, token = env.get(b'LONGSHORE_TOOLS'), env.get(b'LONGSHORE_TOOLS_TOKEN', b'').decode()
    # The worker answers nothing.
    if path is None:
        return request, None
    if loads(request.strip()).get('hasChannel') is True:
        return _with(request, 'channel', {'path': os.fsdecode(path), 'token': token}), None
    return _with(request, 'asks', True), _Asking(connection, path, token).begin


def _with(request: bytes, name: str, value: object) -> bytes:
    """The request is not written again: it may be large."""
    return b'{' + dumps({name: value}).encode()[1:-1] + b',' + request.strip()[1:] + b'\n'


def _is_own(directory: bytes) -> bool:
    """Other users of the sandbox could have created it before, to receive requests."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    status = os.lstat(directory)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


def _connect(path: bytes) -> socket.socket | None:
    """None when no program listens in time; it may be starting."""
    limit = time.monotonic() + _COMES_UP
    while time.monotonic() < limit:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(path)
            return connection
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            time.sleep(_COMES_UP_POLL)
    return None


def _pass_on(connection: socket.socket, request: bytes, ask: Callable[[bytes], None] | None) -> tuple[bool, bool]:
    """Returns whether the server was told to have the request, and whether the last report has come."""
    made = ended = False
    rest = b''
    try:
        connection.sendall(request)
        while not ended and (data := connection.recv(_READ_SIZE)):
            rest += data
            end = rest.rfind(b'\n') + 1
            for line in rest[:end].splitlines():
                kind = _type_of(line)
                if kind == b'ask' and ask is not None:
                    ask(line)
                made = made or kind == b'made'
                ended = kind not in (b'restarted', b'made', b'progress', b'ask')
            _write(1, rest[:end])
            rest = rest[end:]
    except (ConnectionResetError, BrokenPipeError):
        pass
    return made, ended


class _Asking:
    """Takes questions of the server to the worker as code takes its calls of tools, so that each is numbered, kept, and answered once."""

    def __init__(self, connection: socket.socket, path: bytes, token: str) -> None:
        self._connection = connection
        self._path = path
        self._token = token
        self._writing = _thread.allocate_lock()

    def begin(self, line: bytes) -> None:
        _thread.start_new_thread(self._ask, (line,))

    def _ask(self, line: bytes) -> None:
        # Whatever the guest's programs have sent: a question that cannot be asked has no answer.
        try:
            asked = loads(line)
            number = asked['number']
            method = asked.get('method', _QUESTION)
            call = {'token': self._token, 'id': f'ask-{number}', 'tool': method, 'arguments': asked['params']}
            answer = self._exchange(call) or (_NO_ANSWER if method == _QUESTION else _NOT_ASKED)
            with self._writing:
                self._connection.sendall(dumps({'number': number, 'answer': answer}).encode() + b'\n')
        except Exception as error:
            _write(2, f'{type(error).__name__}: {error}\n'.encode('utf-8', 'replace'))

    def _exchange(self, call: dict[str, object]) -> object:
        tools = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            tools.connect(self._path)
            frame = dumps(call).encode()
            tools.sendall(_LENGTH.pack(len(frame)) + frame)
            return loads(_receive(tools, _LENGTH.unpack(_receive(tools, 4))[0]))
        except (OSError, ValueError):
            return None
        finally:
            tools.close()


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b''
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ValueError('the connection was closed')
        data += more
    return data


def _type_of(report: bytes) -> bytes:
    """The type is what a report begins with; the rest, which can be large, is not parsed."""
    return (report.split(b'"', 4) + [b''] * 4)[3]


def _await_end(connection: socket.socket) -> None:
    """Waits for a moment until the supervisor has noticed that the program that listens has ended. Otherwise the next client would not start it
    again, and would wait for a listener that does not exist."""
    try:
        pid = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
        for _ in range(_END_POLLS if pid > 0 else 0):
            os.kill(pid, 0)
            time.sleep(_END_POLL)
    except OSError:
        return


def _tell(kind: str, why: str) -> None:
    _write(1, dumps({'type': kind, 'why': why}).encode() + b'\n')


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
