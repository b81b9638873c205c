"""Finds and signals all that runs below a process."""

from __future__ import annotations

import os
import time

from shared.lean_modules import signal

_LOOKS = 10
# Seconds between two checks of processes that are stopping.
_GLANCE = 0.002
# Of the flags in /proc/PID/stat.
_EXITING = 4


def signal_tree(root: int, number: int) -> int:
    """Signals every living descendant of `root` and returns how many there were at first. For SIGKILL it looks again until none is
    left, since a process may fork before it is killed. It gives up after a time: the caller tries again later."""
    found = descendants(root)
    for pid in found:
        _signal(pid, number)
    if number == signal.SIGKILL:
        for _ in range(_LOOKS):
            left = descendants(root)
            # Stopped first, so that a fork bomb cannot outrun the killing.
            for pid in left:
                _signal(pid, signal.SIGSTOP)
            for pid in left:
                _signal(pid, signal.SIGKILL)
            if not left:
                break
    return len(found)


def hold_still(root: int) -> list[int]:
    """Stops all below `root`, parents first, so that no shell sees its child stop. Returns those that it stopped, for `go_on`."""
    held: list[int] = []
    for _ in range(_LOOKS):
        fresh = [pid for pid in descendants(root, leave_out=b'ZXTt') if pid not in held]
        if not fresh:
            break
        for pid in fresh:
            _signal(pid, signal.SIGSTOP)
        held += fresh
    return held


def wait_until_still(held: list[int], seconds: float) -> bool:
    """A process in the middle of a system call finishes that first. Returns whether all of them have stopped."""
    until = time.monotonic() + seconds
    while any(_state_and_parent(pid)[0] not in b'ZXTt' for pid in held):
        if time.monotonic() > until:
            return False
        time.sleep(_GLANCE)
    return True


def go_on(held: list[int]) -> None:
    for pid in reversed(held):
        _signal(pid, signal.SIGCONT)


def descendants(root: int, leave_out: bytes = b'ZX') -> list[int]:
    """Pids below `root`, except those in these states: zombies by default."""
    children: dict[int, list[tuple[int, bytes]]] = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            state, parent = _state_and_parent(name)
            if parent:
                children.setdefault(parent, []).append((int(name), state))
    found = []
    waiting = [root]
    while waiting:
        for pid, state in children.get(waiting.pop(), ()):
            waiting.append(pid)
            if state not in leave_out:
                found.append(pid)
    return found


def is_ending(pid: int) -> bool:
    """Whether a process has ended, and its parent has not seen it yet, or is about to end."""
    fields = _stat_of(f'/proc/{pid}')
    return len(fields) > 6 and (fields[0] in (b'Z', b'X') or int(fields[6]) & _EXITING != 0)


def _state_and_parent(pid: str | int) -> tuple[bytes, int]:
    """A process whose first thread has ended looks like a zombie while others of its threads run on: its state is theirs."""
    state, parent = _state_and_parent_in(f'/proc/{pid}')
    if state != b'Z':
        return state, parent
    try:
        threads = [_state_and_parent_in(f'/proc/{pid}/task/{thread}')[0] for thread in os.listdir(f'/proc/{pid}/task')]
    except OSError:
        return state, parent
    living = [each for each in threads if each not in b'ZX']
    return next((each for each in living if each not in b'Tt'), living[0] if living else state), parent


def _state_and_parent_in(directory: str) -> tuple[bytes, int]:
    fields = _stat_of(directory)
    return (fields[0], int(fields[1])) if len(fields) > 1 else (b'X', 0)


def _stat_of(directory: str) -> list[bytes]:
    """What the kernel says of a process or a thread, from its state on; empty for none."""
    try:
        fd = os.open(f'{directory}/stat', os.O_RDONLY)
    except OSError:
        return []
    try:
        line = os.read(fd, 1024)
    except OSError:
        return []
    finally:
        os.close(fd)
    # The program's name is in parentheses and may contain anything, so the last one counts.
    return line[line.rfind(b')') + 2 :].split(None, 7)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass
