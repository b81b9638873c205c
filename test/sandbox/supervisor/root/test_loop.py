from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from root.loop import READ

if TYPE_CHECKING:
    import pytest

    from root.loop import Loop


def test_a_callback_that_fails_is_removed_and_ends_nothing_else(loop: Loop, capfd: pytest.CaptureFixture[str]) -> None:
    bad_read, bad_write = os.pipe()
    read, write = os.pipe()
    heard: list[bytes] = []

    def fail(mask: int) -> None:
        raise ValueError('broken')

    loop.add(bad_read, READ, fail)
    loop.add(read, READ, lambda mask: heard.append(os.read(read, 10)))
    for _ in range(2):
        os.write(bad_write, b'.')
        os.write(write, b'.')
        loop.step(loop.active, True)
    assert heard == [b'.', b'.']
    assert capfd.readouterr().err.count("ValueError('broken')") == 1
    for fd in (bad_read, bad_write, read, write):
        os.close(fd)


def test_due_work_that_fails_ends_nothing_and_is_tried_again_after_a_pause(
    loop: Loop, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float | None] = []

    class Epoll:
        def poll(self, timeout: float | None) -> list[tuple[int, int]]:
            asked.append(timeout)
            return []

    monkeypatch.setattr(loop, '_epoll', Epoll())

    def fail(now: float) -> None:
        raise OSError('no file descriptor left')

    for running in (True, False):
        loop.attempt(fail)
        loop.step(loop.active if running else None, running)
        loop.attempt(lambda now: None)
        loop.step(loop.active, running)
    assert asked == [0.5, 0.0, 0.5, 0.0]
    assert capfd.readouterr().err.count('no file descriptor left') == 2


def test_what_due_work_has_left_to_do_is_done_without_waiting_for_events(loop: Loop) -> None:
    done: list[str] = []
    loop.attempt(lambda now: loop.after_events(lambda: done.append('sent')))
    begun = time.monotonic()
    loop.step(None, True)
    assert done == ['sent']
    assert time.monotonic() - begun < 1


def test_the_clock_stands_still_while_the_process_was_frozen(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    before = loop.now()
    later = time.monotonic() + 3600
    monkeypatch.setattr(time, 'monotonic', lambda: later)
    assert 0 < loop.now() - before <= 1.0


def test_what_comes_after_the_events_is_called_once_and_may_ask_for_more(loop: Loop) -> None:
    calls: list[str] = []

    def first() -> None:
        calls.append('first')
        loop.after_events(lambda: calls.append('second'))

    loop.after_events(first)
    loop.step(loop.active, True)
    loop.step(loop.active, True)
    assert calls == ['first', 'second']


def test_what_can_wait_is_called_by_itself(loop: Loop) -> None:
    calls: list[str] = []
    loop.later(lambda: calls.append('late'))
    while not calls:
        loop.step(None, False)
    loop.step(loop.active, True)
    assert calls == ['late']
