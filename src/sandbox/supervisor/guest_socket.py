"""The sockets of our programs that live on in the sandbox as the guest, each by the program's name, and the way of their clients to them."""

import contextlib
import os
import socket
import time

_COMES_UP = 30.0


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


def _path_of(name):
    return os.path.join(os.environ.get('LONGSHORE_CODE') or f'/tmp/.longshore-code-{os.getuid()}', f'{name}.sock')
