from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Callable

import pytest

from root.execs import processes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Two levels below the shell, and a child of another session.
TREE = 'sh -c "sleep 600 & wait" & setsid sleep 600 & wait'
DEPTH = 4


# Its first thread ends, and another runs on.
HEADLESS = f"""
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).syscall({93 if os.uname().machine == 'aarch64' else 60}, 0)"""


@pytest.fixture
def root() -> Iterator[int]:
    """A process with a tree below it."""
    program = subprocess.Popen(['sh', '-c', TREE], start_new_session=True)
    # The child of another session begins in this one.
    until(lambda: len(processes.descendants(program.pid)) >= DEPTH - 1 and len(sessions(program.pid)) == 2)
    yield program.pid
    processes.signal_tree(program.pid, signal.SIGKILL)
    program.kill()
    program.wait()


def sessions(root: int) -> set[int]:
    return {os.getsid(pid) for pid in processes.descendants(root)}


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, 'the condition did not come to hold'
        time.sleep(0.005)


def test_the_whole_tree_is_found_whatever_its_sessions(root: int) -> None:
    found = processes.descendants(root)
    assert len(found) == DEPTH - 1
    assert root not in found
    assert len(sessions(root)) == 2


def test_what_is_held_still_goes_on_afterwards(root: int) -> None:
    held = processes.hold_still(root)
    assert sorted(held) == sorted(processes.descendants(root))
    assert processes.wait_until_still(held, 30)
    assert processes.descendants(root, leave_out=b'Tt') == []
    # What stood still before is not this holder's to let go on.
    assert processes.hold_still(root) == []
    processes.go_on(held)
    until(lambda: len(processes.descendants(root, leave_out=b'Tt')) == len(held))


def test_waiting_for_what_does_not_stop_ends_with_the_time(root: int) -> None:
    assert not processes.wait_until_still(processes.descendants(root), 0)
    assert processes.wait_until_still([], 0)


def test_the_killed_are_counted_and_gone(root: int) -> None:
    assert processes.signal_tree(root, signal.SIGKILL) == DEPTH - 1
    until(lambda: processes.descendants(root) == [])
    assert processes.signal_tree(root, signal.SIGTERM) == 0


def test_a_process_that_is_gone_stands_still() -> None:
    program = subprocess.Popen(['true'])
    program.wait()
    assert processes.wait_until_still([program.pid], 0)
    assert processes.descendants(program.pid) == []


def test_a_name_may_hold_anything(tmp_path: Path) -> None:
    program = tmp_path / 'a) Z 1 (b'
    shutil.copy('/bin/sleep', program)
    with subprocess.Popen([str(program), '600']) as child:
        until(lambda: child.pid in processes.descendants(os.getpid()))
        child.kill()


def test_a_process_whose_first_thread_has_ended_is_held_and_ended_as_any_other() -> None:
    program = subprocess.Popen([sys.executable, '-c', f'import subprocess, sys; subprocess.run([sys.executable, "-c", {HEADLESS!r}])'])
    try:
        until(lambda: [processes._state_and_parent_in(f'/proc/{pid}')[0] for pid in processes.descendants(program.pid)] == [b'Z'])
        held = processes.hold_still(program.pid)
        assert len(held) == 1
        assert processes.wait_until_still(held, 30)
        assert processes.descendants(program.pid, leave_out=b'Tt') == []
        assert processes.signal_tree(program.pid, signal.SIGKILL) == 1
        program.wait(30)
    finally:
        processes.signal_tree(program.pid, signal.SIGKILL)
        program.kill()
        program.wait()
