"""The sockets of our programs that live on in the sandbox as the guest, each by the program's name, and the way of their clients to them."""

import contextlib
import os
import socket
import struct
import time

_COMES_UP = 30.0
_END_POLLS = 40
_END_POLL = 0.01
_CREDENTIALS = struct.Struct('3i')


def listen(name):
    """From now on clients find it; whoever had the name before is found no more."""
    path = _path_of(name)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    new = f'{path}.{os.getpid()}'
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(new)
    listener.listen(64)
    # In one go, so that a client finds the former one, or one that listens.
    os.rename(new, path)
    return listener


def connect(name):
    """None when nobody listens within 30 seconds: the program may be on its way up."""
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


def tell(data):
    """Writes all of it to stdout, which whoever follows the client reads."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def peer_of(connection):
    """Process id of the program that listens; 0 where it cannot be told."""
    with contextlib.suppress(OSError):
        return _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
    return 0


def await_end(pid):
    """Waits, for a moment, until the supervisor has noticed that a program has ended: the next client would take it for a running one, which is
    not started again, and wait for it in vain."""
    for _ in range(_END_POLLS if pid > 0 else 0):
        try:
            os.kill(pid, 0)
        except OSError:
            return
        time.sleep(_END_POLL)


def _path_of(name):
    return os.path.join(os.environ.get('LONGSHORE_CODE') or f'/tmp/.longshore-code-{os.getuid()}', f'{name}.sock')
