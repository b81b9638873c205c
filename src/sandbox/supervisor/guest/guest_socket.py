"""Sockets of our long-running programs in the sandbox, which run as the guest. Each is found by the name of its program."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_COMES_UP = 30.0
_END_POLL = 0.01
# Seconds in which a program that has hung up begins to end, if it ends at all; and in which it has ended, also on a busy machine.
_BEGINS_TO_END = 0.4
_HAS_ENDED = 10.0
# Of the flags in /proc/PID/stat.
_EXITING = 4
_CREDENTIALS = struct.Struct('3i')
# Connections that have not sent their request yet.
_SILENT = 64
# Bytes for the name of a process.
_CLIENT = 64
# The longest code, with each of its characters escaped.
_MAX_REQUEST = 512 * 1024 * 1024


def listen(name: str) -> socket.socket:
    """From now on clients find this listener instead of the former one of the same name."""
    path = _path_of(name)
    new = f'{path}.{os.getpid()}'
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(new)
    listener.listen(64)
    # One atomic step: a client finds either the former listener or the new one.
    os.rename(new, path)
    return listener


class Served:
    """Says for which client a listener works, for `is_left_behind`. The file stays open: code may use up descriptors and disk."""

    def __init__(self, name: str) -> None:
        self._fd = os.open(_path_of(name, 'client'), os.O_WRONLY | os.O_CREAT, 0o600)
        self.is_now('')

    def is_now(self, client: str) -> None:
        """'' for none."""
        with contextlib.suppress(OSError):
            os.pwrite(self._fd, client.encode()[:_CLIENT].ljust(_CLIENT), 0)


class Requests:
    """The clients of a listener, each with its request, which is one line. Clients that are slow or send nothing do not delay the others: when there are too
    many of them, the one that came first is dropped."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._silent: dict[socket.socket, bytearray] = {}
        """What each connection has sent of its request, in the order in which they came."""

    def __iter__(self) -> Iterator[tuple[socket.socket, bytes]]:
        while True:
            for client in self._ready():
                if client is self._listener:
                    self._accept()
                elif self._receive(client):
                    yield client, bytes(self._silent.pop(client))

    def _ready(self) -> list[socket.socket]:
        """Clients in the order in which they came. Not by `select`, which takes no descriptor above 1023, and code may have many files open."""
        known = {each.fileno(): each for each in (self._listener, *self._silent)}
        poll = select.poll()
        for fd in known:
            poll.register(fd, select.POLLIN)
        return [known[fd] for fd, _ in poll.poll()]

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            self._silent[self._listener.accept()[0]] = bytearray()
        if len(self._silent) > _SILENT:
            self._drop(next(iter(self._silent)))

    def _receive(self, client: socket.socket) -> bool:
        """True when the request is complete."""
        request = self._silent.get(client)
        if request is None:
            return False
        data = b''
        with contextlib.suppress(OSError):
            data = client.recv(262144)
        request += data
        if data and len(request) <= _MAX_REQUEST:
            return data.endswith(b'\n')
        self._drop(client)
        return False

    def _drop(self, client: socket.socket) -> None:
        self._silent.pop(client)
        client.close()


def connect(name: str) -> socket.socket | None:
    """None when no program listens within 30 seconds; it may be starting."""
    path = _path_of(name)
    limit = time.monotonic() + _COMES_UP
    while time.monotonic() < limit:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            time.sleep(0.02)
    return None


def tell(data: bytes) -> None:
    """Writes all of it to stdout, which the worker that follows the client reads."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def peer_of(connection: socket.socket) -> int:
    """Process id of the program that listens; 0 when it cannot be determined."""
    with contextlib.suppress(OSError):
        pid: int = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
        return pid
    return 0


def this_process() -> str:
    """Names a process for `Served`."""
    return f'{os.getpid()} {_start_of(os.getpid())}'


def is_left_behind(name: str) -> bool:
    """Whether the listener of a name works for a client that has ended."""
    try:
        with open(_path_of(name, 'client')) as file:
            pid, start = file.read().split()
        return _start_of(int(pid)) != start
    except (OSError, ValueError):
        return False


def await_end(pid: int, killed: bool = False) -> None:
    """Waits until the supervisor has noticed that a program has ended, for as long as that can take. Otherwise the next client would not start the program
    again, and would wait for a listener that does not exist. `killed`: it ends in any case."""
    begun = time.monotonic()
    while pid > 0:
        try:
            os.kill(pid, 0)
        except OSError:
            return
        waited = time.monotonic() - begun
        if waited > _HAS_ENDED or (waited > _BEGINS_TO_END and not killed and not _is_ending(pid)):
            return
        time.sleep(_END_POLL)


def _start_of(pid: int) -> str:
    """When a process was started; '' for one that has ended."""
    fields = _stat_of(pid)
    return '' if not fields or fields[0] == 'Z' else fields[19]


def _is_ending(pid: int) -> bool:
    fields = _stat_of(pid)
    return bool(fields) and (fields[0] in 'ZX' or int(fields[6]) & _EXITING != 0)


def _stat_of(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on; empty for none."""
    try:
        with open(f'/proc/{pid}/stat') as file:
            # The name, in parentheses, can have any characters.
            return file.read().rpartition(')')[2].split()
    except OSError:
        return []


def _path_of(name: str, kind: str = 'sock') -> str:
    directory = os.environ.get('LONGSHORE_CODE') or f'/tmp/.longshore-code-{os.getuid()}'
    os.makedirs(directory, mode=0o700, exist_ok=True)
    status = os.lstat(directory)
    # Other users of the sandbox could have created it before, to receive what our clients send.
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        sys.exit(f'{directory} is not a directory of this user alone; remove it')
    return os.path.join(directory, f'{name}.{kind}')
