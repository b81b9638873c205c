"""Prints for each kind of process whether a count takes it for one that may hold hidden files. Argument: a directory. Runs as root."""

from __future__ import annotations

import ctypes
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

SUPERVISOR = os.path.join(os.path.dirname(__file__), '../../../src/sandbox/supervisor')
sys.path.insert(0, SUPERVISOR)
from as_guest import disk_usage  # noqa: E402

GUEST = 54321
PR_SET_DUMPABLE = 4


def closed() -> None:
    """As a guest's program that forbids to look into it."""
    os.setresuid(GUEST, GUEST, GUEST)
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def at_file_work() -> None:
    """As the supervisor's child that writes a file for the worker."""
    os.setresuid(0, GUEST, 0)


def ended() -> None:
    os.setresuid(GUEST, GUEST, GUEST)
    os._exit(0)


def seen_beside(become: Callable[[], None]) -> str:
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ready)
        become()
        os.write(tell, b'.')
        os.read(os.pipe()[0], 1)
    os.close(tell)
    os.read(ready, 1)
    os.close(ready)
    # Its end closes the pipe before it is a zombie.
    if become is ended:
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    reader, writer = os.pipe()
    counting = os.fork()
    if counting == 0:
        count = disk_usage.Count(None, [(GUEST, GUEST)])
        count.add([os.fsencode(sys.argv[1])])
        os.write(writer, f'complete={count.complete} hidden={count.hidden}'.encode())
        os._exit(0)
    os.waitpid(counting, 0)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return os.read(reader, 100).decode()


for become in (closed, at_file_work, ended):
    print(become.__name__, seen_beside(become))
