"""The one loop of the process: readiness of descriptors, and a clock that stands still while the container is frozen."""

from __future__ import annotations

import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from shared.shapes import OnReady

READ = select.EPOLLIN
WRITE = select.EPOLLOUT
# Seconds between two checks of a deadline. A pause that is clearly longer means that the container was frozen.
_TICK = 0.5
_SLOW_TICK = 5.0
_SLACK = 0.5
# Most commands have ended by then.
_LATER = 0.005


class Loop:
    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._callbacks: dict[int, OnReady] = {}
        self._after: list[Callable[[], object]] = []
        self._later: list[Callable[[], object]] = []
        self._later_due = 0.0
        self._seen = time.monotonic()
        self._faulted = False
        self.active = 0.0
        """Seconds that this process has lived without being frozen; only differences taken while something runs have a meaning."""

    def add(self, fd: int, mask: int, callback: OnReady) -> None:
        self._callbacks[fd] = callback
        self._epoll.register(fd, mask)

    def change(self, fd: int, mask: int) -> None:
        self._epoll.modify(fd, mask)

    def remove(self, fd: int) -> None:
        """Must come before the descriptor is closed: a forked child may keep the file open, and epoll would go on reporting it."""
        if self._callbacks.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def after_events(self, callback: Callable[[], object]) -> None:
        """Calls back once, after all that is ready now has been handled."""
        self._after.append(callback)

    def later(self, callback: Callable[[], object]) -> None:
        """Calls back once, in some milliseconds: for work that would delay a short command."""
        if not self._later:
            self._later_due = self.active + _LATER
        self._later.append(callback)

    def now(self) -> float:
        """Active seconds, brought up to date."""
        seen = time.monotonic()
        self.active += min(seen - self._seen, _TICK + _SLACK)
        self._seen = seen
        return self.active

    def attempt(self, work: Callable[[float], object]) -> None:
        """Does work that may be due. A fault of it is reported, and what is due is tried again after a pause."""
        try:
            work(self.active)
        except Exception as error:
            self._report(work, error)
            self._faulted = True

    def step(self, due: float | None, running: bool) -> None:
        """Waits for events and handles them. `due`: active time of the next deadline, or None; `running`: whether any exec runs."""
        if self._later:
            due = self._later_due if due is None else min(due, self._later_due)
        asked: float | None
        if due is not None:
            asked = max(0.0, min(_TICK, due - self.active))
        else:
            asked = _SLOW_TICK if running else None
        if self._faulted:
            self._faulted = False
            asked = _TICK
        if self._after:
            # What was due has left something to do.
            asked = 0.0
        events = self._epoll.poll(asked)
        seen = time.monotonic()
        self.active += min(seen - self._seen, (asked or 0.0) + _SLACK)
        self._seen = seen
        for fd, mask in events:
            callback = self._callbacks.get(fd)
            if callback is not None:
                self._guard(callback, mask, fd)
        if self._later and self.active >= self._later_due:
            self._after += self._later
            self._later = []
        while self._after:
            pending, self._after = self._after, []
            for waiting in pending:
                self._guard(waiting)

    def _guard(self, callback: Callable[..., object], mask: int | None = None, fd: int | None = None) -> None:
        try:
            callback() if mask is None else callback(mask)
        except Exception as error:  # one fault must not end all commands
            self._report(callback, error)
            if fd is not None:
                self.remove(fd)

    @staticmethod
    def _report(work: object, error: Exception) -> None:
        sys.stderr.write(f'supervisor: {work!r}: {error!r}\n')
