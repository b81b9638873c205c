"""What runs a request to an MCP server of the sandbox: a connection to the keeper of the server (guest/mcp_server.py). It has no process of its own, whose
start and end would take longer than all the rest of a request.

The keeper gets a line of JSON, with `tools` and `token` where the worker answers questions, and then the input of the exec. What it sends is the output of the
exec, and is not looked at; a byte of 0 ends it. When the connection is closed before that, the request is cancelled."""

from __future__ import annotations

import os
import stat
import struct

from root.execs import processes
from root.loop import READ
from shared.lean_json import dumps
from shared.lean_modules import signal, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from root.execs.outputs import Outputs
    from root.execs.stdin import Stdin
    from root.loop import Loop
    from shared.shapes import Environment, Fields, Ids

_COMES_UP = 30.0
_COMES_UP_POLL = 0.02
_ENDS_POLL = 0.01
# Seconds in which a keeper that has hung up begins to end, if it ends at all; and in which it has ended, also on a busy machine.
_BEGINS_TO_END = 0.4
_HAS_ENDED = 10.0
_READ_SIZE = 65536
_DONE = b'\0'
_FAILED = 1 << 8
"""The wait status of the exit code 1."""
_CREDENTIALS = struct.Struct('3i')
_PAUSES = (signal.SIGSTOP, signal.SIGCONT)


class ServerRequest:
    """Is the `body` of its execution (see shapes.py)."""

    problem: str | None = None
    may_write = True

    def __init__(self, server: bytes, cwd: bytes, env: Environment, user: Ids, loop: Loop) -> None:
        self.status: int | None = None
        self.gone = False
        self.due: float | None = None
        self._loop = loop
        self._user = user
        self._directory = env.get(b'LONGSHORE_CODE') or b'/tmp/.longshore-code-%d' % user[0]
        self._cwd = cwd
        self._server = server
        self._head = _head(env)
        self._connection: socket.socket | None = None
        self._keeper = 0
        self._until = 0.0
        self._hung_up = 0.0

    def begin(self, outputs: Outputs, stdin: Stdin | None, on_change: Callable[[], object]) -> None:
        self._outputs = outputs
        self._stdin = stdin
        self._on_change = on_change
        self._until = self._loop.now() + _COMES_UP
        self._connect()

    @property
    def is_empty(self) -> bool:
        return self.gone

    def signal(self, number: int) -> int:
        if self.gone:
            return 0
        if number not in _PAUSES:
            self._end(number)
        return 1

    def hold_still(self) -> list[int]:
        return []

    def on_due(self, now: float) -> None:
        if self._keeper:
            self._await_end(now)
        elif now < self._until:
            self._connect()
        else:
            self._fail('failed', 'it did not start in time')

    def _connect(self) -> None:
        """It may be starting: then it is tried again."""
        self.due = self._loop.now() + _COMES_UP_POLL
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            _as_user(self._user, lambda: self._find(connection))
            connection.sendall(self._head)
        except (FileNotFoundError, ConnectionError, BlockingIOError):
            connection.close()
            return
        except OSError as error:
            connection.close()
            # Later: the files of the exec do not exist yet.
            why = str(error) if isinstance(error, NotOwnError) else f'{type(error).__name__}: {error}'
            self._loop.after_events(lambda: self._refuse(why))
            return
        self.due = None
        self._connection = connection
        self._loop.add(connection.fileno(), READ, self._receive)
        if self._stdin is not None:
            self._stdin.write_to(os.dup(connection.fileno()), _end_input)

    def _find(self, connection: socket.socket) -> None:
        directory = os.path.join(self._cwd, self._directory)
        status = os.lstat(directory)
        # Other users of the sandbox could have created it before, to receive requests.
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != self._user[0] or status.st_mode & 0o077:
            raise NotOwnError(f'{os.fsdecode(self._directory)} is not a directory of this user alone; remove it')
        connection.connect(os.path.join(directory, b'mcp-%s.sock' % self._server))

    def _receive(self, mask: int) -> None:
        connection = self._connection
        if connection is None:
            return
        try:
            data = os.read(connection.fileno(), _READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if data[-1:] == _DONE:
            self._outputs.take(0, data[:-1])
            self._end(0)
        elif data:
            self._outputs.take(0, data)
        else:
            self._keeper = _peer_of(connection)
            self._close()
            self._hung_up = self._loop.now()
            self._await_end(self._loop.active)

    def _await_end(self, now: float) -> None:
        """Waits until the end of the keeper has been noticed, for as long as that can take. Otherwise the next client would not start it again, and would wait
        for a listener that does not exist."""
        waited = now - self._hung_up
        if _is_there(self._keeper) and waited < (_HAS_ENDED if processes.is_ending(self._keeper) else _BEGINS_TO_END):
            self.due = now + _ENDS_POLL
        else:
            self._fail('gone', 'the program that runs it was ended')

    def _fail(self, kind: str, why: str) -> None:
        # The first newline ends what the keeper may have sent only in part.
        start = b'\n' if self._outputs.total[0] else b''
        self._outputs.take(0, start + dumps({'type': kind, 'why': why}).encode() + b'\n')
        self._end(0)

    def _refuse(self, why: str) -> None:
        if not self.gone:
            self._outputs.take(1, why.encode('utf-8', 'replace') + b'\n')
            self._end(_FAILED)

    def _end(self, status: int) -> None:
        self._close()
        self.status = status
        self.gone = True
        self.due = None
        self._on_change()

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._loop.remove(connection.fileno())
            # The input of the exec has a descriptor of its own.
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()


class NotOwnError(OSError):
    pass


def _head(env: Environment) -> bytes:
    tools: Fields = {}
    if b'LONGSHORE_TOOLS' in env:
        tools = {'tools': os.fsdecode(env[b'LONGSHORE_TOOLS']), 'token': env[b'LONGSHORE_TOOLS_TOKEN'].decode()}
    return dumps(tools).encode() + b'\n'


def _as_user(user: Ids, work: Callable[[], object]) -> None:
    """Finds files with the rights of the user: in its directories, a name may lead to whatever root alone can reach."""
    uid, gid = user
    if uid == os.geteuid():
        work()
        return
    group = os.getegid()
    os.setegid(gid)
    try:
        os.seteuid(uid)
        work()
    finally:
        os.seteuid(0)
        os.setegid(group)


def _end_input(fd: int) -> None:
    """Tells the keeper that nothing more comes, while its reports still do."""
    connection = socket.socket(fileno=fd)
    try:
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    connection.close()


def _peer_of(connection: socket.socket) -> int:
    """Process id of the keeper; that of this process where the kernel does not know it."""
    pid: int = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
    return pid or os.getpid()


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
