"""The stdin of a server of the Model Context Protocol; for mcp_process.py."""

from __future__ import annotations

import collections
import contextlib
import os
import select
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

# Of what a server does not read. A larger message is sent as well, if all before it was read.
_MOST_UNREAD = 64 * 1024 * 1024
_LOOK_MS = 1_000


class Input:
    """Sends without waiting: what the server does not read at once is written by a thread. Otherwise a server that never reads would hold up the requests of
    all clients, and the end of requests that were given up."""

    def __init__(self, pipe: IO[bytes], on_unread: Callable[[], object]) -> None:
        self._pipe = pipe
        self._on_unread = on_unread
        self._waiting: collections.deque[memoryview] = collections.deque()
        self._unread = 0
        self._is_watched = False
        self._lock = threading.Lock()
        os.set_blocking(pipe.fileno(), False)

    def send(self, data: bytes) -> None:
        with self._lock:
            if self._pipe.closed:
                return
            is_too_much = self._unread > _MOST_UNREAD
            if not is_too_much:
                self._waiting.append(memoryview(data))
                self._unread += len(data)
                self._write()
                if self._waiting and not self._is_watched:
                    # Without room for another thread, the next message writes it.
                    with contextlib.suppress(RuntimeError):
                        threading.Thread(target=self._watch, daemon=True).start()
                        self._is_watched = True
        if is_too_much:
            self._on_unread()

    def close(self) -> None:
        with self._lock:
            self._waiting.clear()
            self._pipe.close()

    def _watch(self) -> None:
        while True:
            with self._lock:
                self._write()
                self._is_watched = bool(self._waiting)
                if not self._is_watched:
                    return
                poll = select.poll()
                poll.register(self._pipe.fileno(), select.POLLOUT)
            # It may be closed meanwhile, while programs that the server has left behind still have the other end.
            poll.poll(_LOOK_MS)

    def _write(self) -> None:
        """As much as can be written at once."""
        while self._waiting:
            data = self._waiting[0]
            try:
                count = os.write(self._pipe.fileno(), data)
            except BlockingIOError:
                return
            except OSError:
                # The other pipe shows that the server has ended.
                count = len(data)
            self._unread -= count
            if count < len(data):
                self._waiting[0] = data[count:]
            else:
                self._waiting.popleft()
