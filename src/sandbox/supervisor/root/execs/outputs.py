"""The output of a running exec: kept in the journal, up to a limit; the rest is counted. Of a command, it is drained from pipes."""

from __future__ import annotations

import os

from root.loop import READ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from root.loop import Loop

_CHUNK = 65536
# A pipe may hold up to a megabyte (F_SETPIPE_SZ) when its last writer that matters has ended.
_DRAIN_READS = 32


class Outputs:
    """In each list, the first item is for stdout and the second for stderr."""

    def __init__(self, limit: int, loop: Loop, on_data: Callable[[], None]) -> None:
        self.files = [-1, -1]
        """Of the journal; -1 where there is none."""
        self.kept = [0, 0]
        self.total = [0, 0]
        self._pipes = [-1, -1]
        self._limit = limit
        self._loop = loop
        self._on_data = on_data

    def read_from(self, pipes: tuple[int, int]) -> None:
        self._pipes = list(pipes)
        self._loop.add(pipes[0], READ, lambda _: self._read(0))
        self._loop.add(pipes[1], READ, lambda _: self._read(1))

    def take(self, index: int, data: bytes) -> None:
        self.total[index] += len(data)
        room = self._limit - self.kept[index]
        if room > 0:
            self._keep(index, data[:room] if room < len(data) else data)
        self._on_data()

    def keep_no_more(self) -> None:
        """The volume is full: what does not fit is counted and dropped, and the kept part stays without gaps."""
        self._limit = 0

    def drain(self) -> None:
        """Reads what is in the pipes now; data that is written meanwhile may have no end."""
        for index in (0, 1):
            for _ in range(_DRAIN_READS):
                if not self._read(index):
                    break

    def close_pipes(self) -> None:
        """No process is left that could write to them."""
        for index, fd in enumerate(self._pipes):
            if fd >= 0:
                while self._read(index):
                    pass
            if self._pipes[index] >= 0:
                self._loop.remove(self._pipes[index])
                os.close(self._pipes[index])
                self._pipes[index] = -1

    def close_files(self) -> None:
        for fd in self.files:
            if fd >= 0:
                os.close(fd)
        self.files = [-1, -1]

    def _read(self, index: int) -> bool:
        """One chunk of a pipe; False when there is nothing more to read now."""
        fd = self._pipes[index]
        if fd < 0:
            return False
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove(fd)
            os.close(fd)
            self._pipes[index] = -1
            return False
        self.take(index, data)
        return True

    def _keep(self, index: int, data: bytes) -> None:
        try:
            while data:
                written = os.write(self.files[index], data)
                self.kept[index] += written
                data = data[written:]
        except OSError:
            self.keep_no_more()
