from __future__ import annotations

import errno
import os
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from root import disk_guard
from root.disk_guard import DiskGuard
from root.execs.users import User
from shared.protocol import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from root.loop import Loop

MB = 1 << 20
LIMIT = 100 * MB
INODES = 65_536


class Work:
    """Something that may write, and what was done with it."""

    def __init__(self) -> None:
        self.busy = True
        self.done: list[str] = []

    def hold_still(self) -> list[int]:
        self.done.append('held')
        return []

    def go_on(self) -> None:
        self.done.append('went on')

    def end(self, holds: bool) -> None:
        self.done.append('ended')


class Storage:
    """A disk and the files of the sandbox on it, as the guard finds them."""

    def __init__(self, loop: Loop, work: Work, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free = (1000 * MB, 1_000_000)
        self.count: dict[str, Any] = {'used': 0, 'inodes': 0, 'complete': True, 'hidden': False}
        self.work = work
        self._loop = loop
        self._now = 0.0
        user = User('user', (os.getuid(), os.getgid()), os.fsencode(home))
        work_: Any = work
        nursery: Any = SimpleNamespace(leave=lambda: None)
        self.guard = DiskGuard(loop, work_, str(home), str(home), [user], nursery)
        self.guard.limit = LIMIT
        monkeypatch.setattr(disk_guard, '_free', lambda path: self.free)
        monkeypatch.setattr(DiskGuard, '_count_once', lambda guard: SimpleNamespace(**self.count))

    def write(self, used: int, inodes: int = 0) -> None:
        """Files of the sandbox take this much more of the disk."""
        self.take(used, inodes)
        self.count['used'] += used
        self.count['inodes'] += inodes

    def take(self, used: int, inodes: int = 0) -> None:
        """Another program uses this much of the disk."""
        self.free = (self.free[0] - used, self.free[1] - inodes)

    def look(self) -> list[str]:
        """Lets the guard look, long after it looked last, and returns what it did."""
        self.work.done.clear()
        self._now += 1000
        self.guard.on_time(self._now)
        while self.guard._pipe >= 0:
            self._loop.step(None, False)
        return self.work.done

    def next_look(self) -> float:
        """Seconds from the last look to the next."""
        return round((self.guard.due() or 0) - self._now, 3)


@pytest.fixture
def storage(loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    return Storage(loop, Work(), tmp_path, monkeypatch)


def test_a_sandbox_without_a_limit_is_left_alone(storage: Storage) -> None:
    storage.guard.limit = 0
    storage.write(10 * LIMIT)
    assert storage.guard.due() is None
    assert storage.look() == []
    assert storage.guard.largest_file() is None


def test_an_idle_sandbox_is_looked_at_once_more_and_then_left_alone(storage: Storage) -> None:
    storage.look()
    storage.work.busy = False
    storage.look()
    assert storage.guard.due() is None
    storage.guard.refuse_if_over()
    assert storage.guard.due() is not None
    storage.look()
    assert storage.guard.due() is None


def test_files_within_the_limit_disturb_nothing(storage: Storage) -> None:
    storage.write(LIMIT - 1, INODES - 1)
    assert storage.look() == []
    assert not storage.guard.is_over


@pytest.mark.parametrize(('used', 'inodes'), [(LIMIT + 1, 0), (0, INODES + 1)])
def test_more_than_the_limit_ends_what_writes(storage: Storage, used: int, inodes: int) -> None:
    storage.look()
    storage.write(used, inodes)
    assert storage.look() == ['held', 'ended']
    assert storage.guard.is_over
    assert storage.guard.largest_file() == 0
    with pytest.raises(Refused) as refused:
        storage.guard.refuse_if_over()
    assert refused.value.code == 'FILE_FAILED'
    assert refused.value.problem == f'the files of the sandbox take up more than the 100 MB or {INODES} files that they may; remove some'


def test_growth_of_the_disk_that_is_not_the_sandboxes_lets_it_go_on(storage: Storage) -> None:
    storage.look()
    storage.take(LIMIT + 1)
    assert storage.look() == ['held', 'went on']
    assert not storage.guard.is_over


def test_an_overfull_sandbox_may_begin_again_when_files_were_removed(storage: Storage) -> None:
    storage.look()
    storage.write(LIMIT + 1)
    storage.look()
    storage.write(-2)
    assert storage.guard.largest_file() is None
    assert not storage.guard.is_over


def test_an_overfull_sandbox_may_run_what_does_not_grow(storage: Storage) -> None:
    storage.look()
    storage.write(LIMIT + 1)
    storage.look()
    # What it is allowed is measured from the next count on.
    assert storage.look() == []
    storage.write(1 * MB)
    assert storage.look() == []
    storage.write(16 * MB)
    assert storage.look() == ['held', 'ended']


def test_a_count_that_was_disturbed_is_repeated_with_all_held_still(storage: Storage) -> None:
    storage.count['complete'] = False
    assert storage.look() == ['held', 'ended']
    assert storage.guard.is_over
    storage.count['complete'] = True
    assert storage.guard.largest_file() is None


def test_growth_that_no_file_accounts_for_ends_what_may_hide_files(storage: Storage) -> None:
    storage.look()
    storage.count['hidden'] = True
    storage.take(LIMIT // 2 + 1)
    assert 'ended' not in storage.look()
    storage.take(LIMIT // 2 + 1)
    assert 'ended' in storage.look()
    # The files that are there have room, so the next command may write.
    assert not storage.guard.is_over


def test_growth_that_no_file_accounts_for_is_of_another_sandbox_where_nothing_can_hide(storage: Storage) -> None:
    storage.look()
    for _ in range(3):
        storage.take(LIMIT // 2 + 1)
        assert 'ended' not in storage.look()


def test_it_looks_sooner_the_less_room_there_is(storage: Storage) -> None:
    storage.guard.limit = 10_000 * MB
    storage.look()
    relaxed = storage.next_look()
    storage.write(9_900 * MB)
    storage.look()
    assert (relaxed, storage.next_look()) == (1.0, 0.1)


@pytest.mark.parametrize('call', ['fork', 'pipe'])
def test_a_count_for_which_there_is_no_room_counts_as_over(storage: Storage, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def fail() -> int:
        raise OSError(errno.EAGAIN, 'Resource temporarily unavailable')

    storage.look()
    with monkeypatch.context() as without:
        without.setattr(os, call, fail)
        assert storage.look() == ['held', 'ended']
        assert storage.guard.largest_file() == 0
    assert storage.guard.largest_file() is None


def _stop_counts(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The counting process is stopped, as a guest can do that with one that counts with its real id, while it is not held still."""

    def count(guard: DiskGuard) -> SimpleNamespace:
        if guard._held is None:
            os.kill(os.getpid(), signal.SIGSTOP)
        return SimpleNamespace(**storage.count)

    monkeypatch.setattr(DiskGuard, '_count_once', count)


@pytest.fixture
def in_time() -> Iterator[None]:
    def too_late(number: int, frame: object) -> None:
        pytest.fail('the supervisor waits')

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures('in_time')
def test_a_guest_that_stops_the_count_does_not_stop_the_supervisor(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.look()
    storage.write(LIMIT + 1)
    storage.look()
    _stop_counts(storage, monkeypatch)
    monkeypatch.setattr(disk_guard, '_PATIENCE', 0.1, raising=False)
    storage.work.done.clear()
    assert storage.guard.largest_file() == 0
    # It is counted again, while what could stop that is held still.
    assert storage.work.done == ['held']
    while storage.guard._pipe >= 0:
        storage._loop.step(None, False)
    assert storage.work.done == ['held', 'went on']
    assert storage.guard.is_over


@pytest.mark.usefixtures('in_time')
def test_a_guest_that_stops_the_count_after_its_result_does_not_stop_the_supervisor(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def write_and_stop(fd: int, data: bytes) -> int:
        written = write(fd, data)
        if len(data) == disk_guard._COUNTED.size:
            os.kill(os.getpid(), signal.SIGSTOP)
        return written

    monkeypatch.setattr(os, 'write', write_and_stop)
    assert storage.look() == []
    assert not storage.guard.is_over
