"""Reports the output of Python code, see interpreter.py."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import select
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class _Printer(Protocol):
        teller: Teller


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../protocol.json'), 'rb') as _file:
    LIMITS = json.load(_file)['code']


# A pipe may hold up to a megabyte.
_DRAIN_READS = 32
_NO_FILE = -1
# Characters of each part of an error. The end of the code is always reported, in one line, however each character is written there.
_MAX_ERROR = 1_000_000


class Teller:
    """Writes lines to the client of one piece of code; a client that has disconnected is not an error."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        # The end is always reported.
        self._left = LIMITS['toldBytes']
        self.cut = False
        """Whether something was left out or cut."""
        self.untold = 0
        """Bytes of what was left out."""

    def end(self) -> None:
        """What is printed later, by threads and programs that the code has left, goes nowhere: the number of the descriptor will be that of another file."""
        with self._lock:
            self._fd = _NO_FILE

    def tell(self, kind: str, **fields: Any) -> None:
        line = json.dumps({'type': kind, **fields}, default=str).encode('utf-8', 'replace') + b'\n'
        with self._lock, contextlib.suppress(OSError):
            self._left -= len(line)
            if self._left < 0 and kind not in ('started', 'ended'):
                self.cut = True
                self.untold += len(line)
                return
            view = memoryview(line)
            while view:
                view = view[os.write(self._fd, view) :]


def cut_error(error: dict[str, str]) -> bool:
    """Cuts what is too long in the middle; returns whether anything was."""
    long = [name for name, text in error.items() if len(text) > _MAX_ERROR]
    for name in long:
        half, text = _MAX_ERROR // 2, error[name]
        error[name] = f'{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}'
    return bool(long)


class Capture:
    """What is written to a descriptor below Python, by libraries in C and by subprocesses."""

    def __init__(self, number: int, name: str) -> None:
        self.name = name
        self.teller: Teller | None = None
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.dup2(write, number)
        os.close(write)
        self._lock = threading.Lock()
        # A character may be cut on its way through the pipe.
        self._decoder = codecs.getincrementaldecoder('utf-8')('replace')
        threading.Thread(target=self._follow, daemon=True).start()

    def drain(self, final: bool = False) -> None:
        """Reports what is there now; what is written meanwhile may have no end. `final`: half a character is not waited for any more."""
        with self._lock:
            for _ in range(_DRAIN_READS):
                try:
                    data = os.read(self._read, 65536)
                except BlockingIOError:
                    break
                self._tell(self._decoder.decode(data))
            if final:
                self._tell(self._decoder.decode(b'', True))

    def _tell(self, text: str) -> None:
        if self.teller is not None and text:
            self.teller.tell(self.name, text=text)

    def _follow(self) -> None:
        while True:
            select.select([self._read], [], [])
            self.drain()


class Stream(io.TextIOBase):
    """`sys.stdout` and `sys.stderr`: reported at once, in the order of the program."""

    encoding = 'utf-8'
    errors = 'replace'

    def __init__(self, interpreter: _Printer, name: str, number: int) -> None:
        self._interpreter = interpreter
        self._name = name
        self._number = number
        self.buffer = os.fdopen(os.dup(number), 'wb', 0)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f'write() argument must be str, not {type(text).__name__}')
        if text:
            self._interpreter.teller.tell(self._name, text=text)
        return len(text)
