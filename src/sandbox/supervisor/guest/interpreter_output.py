"""Reports the output of Python code, see interpreter.py."""

from __future__ import annotations

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


class Teller:
    """Writes lines to the client; a client that has disconnected is not an error."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        # The end is always reported.
        self._left = LIMITS['toldBytes']
        self.cut = False
        """Whether something was left out or cut."""
        self.untold = 0
        """Bytes of what was left out."""

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
        threading.Thread(target=self._follow, daemon=True).start()

    def drain(self) -> bool:
        """True when there was something."""
        with self._lock:
            found = False
            while True:
                try:
                    data = os.read(self._read, 65536)
                except BlockingIOError:
                    return found
                found = True
                if self.teller is not None:
                    self.teller.tell(self.name, text=data.decode('utf-8', 'replace'))

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
