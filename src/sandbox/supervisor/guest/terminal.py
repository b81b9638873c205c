"""A command in a terminal of its own. Runs as the guest; arguments: columns, rows, then the program.

Stdin carries frames of one letter, a length (4 bytes, big-endian) and a payload: `i` is what is typed, `s` is a new size as two 16-bit
numbers. Stdout is what the terminal shows."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

_HEADER = struct.Struct('>cI')
_SIZE = struct.Struct('>HH')
_MAX_FRAME = 1 << 20


def main(columns: str, rows: str, argv: list[str]) -> None:
    sized, sizing = os.pipe()
    child, master = pty.fork()
    if child == 0:
        os.environ.setdefault('TERM', 'xterm-256color')
        _resize(0, int(columns), int(rows))
        try:
            os.execvp(argv[0], argv)
        except OSError as error:
            os.write(2, f'{argv[0]}: {error.strerror}\r\n'.encode())
            os._exit(127)
    os.close(sizing)
    # The child's end closes when its program starts. Before that, a new size could be overwritten by the initial one.
    os.read(sized, 1)
    _relay(master)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        # Ends in the same way as its child, so that the runner reports the real end.
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def _relay(master: int) -> None:
    incoming, typed = b'', b''
    os.set_blocking(master, False)
    reading = [0, master]
    while True:
        # Input that the program has not read yet waits, and the client waits too.
        readable, writable, _ = select.select([fd for fd in reading if fd != 0 or len(typed) < 65536], [master] if typed else [], [])
        if master in readable:
            data = _read(master)
            if data == b'':
                return
            _write_all(data or b'')
        if 0 in readable:
            data = os.read(0, 65536)
            if not data:
                reading.remove(0)
            incoming, more = _parse(incoming + data, master)
            typed += more
        if typed and (master in writable):
            try:
                typed = typed[os.write(master, typed) :]
            except BlockingIOError:
                pass
            except OSError:
                return


def _read(master: int) -> bytes | None:
    """Empty when the last process of the terminal has closed it."""
    try:
        return os.read(master, 65536)
    except BlockingIOError:
        return None
    except OSError:
        return b''


def _parse(data: bytes, master: int) -> tuple[bytes, bytes]:
    """Returns what is left of the frames, and what was typed."""
    typed = b''
    while len(data) >= _HEADER.size:
        kind, length = _HEADER.unpack_from(data)
        if length > _MAX_FRAME:
            sys.exit('a frame that is too long')
        end = _HEADER.size + length
        if len(data) < end:
            break
        payload, data = data[_HEADER.size : end], data[end:]
        if kind == b'i':
            typed += payload
        elif kind == b's' and length == _SIZE.size:
            _resize(master, *_SIZE.unpack(payload))
    return data, typed


def _resize(fd: int, columns: int, rows: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('=HHHH', rows, columns, 0, 0))


def _write_all(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


main(sys.argv[1], sys.argv[2], sys.argv[3:])
