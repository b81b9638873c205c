"""Keeps guests from fallocate where the engine's profile does not: a runtime with a kernel of its own, such as gVisor, does not use one."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EOPNOTSUPP
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
# The architecture as a filter sees it, and the number of the system call there.
_CALLS = {'x86_64': (0xC000003E, 285), 'aarch64': (0xC00000B7, 47), 'riscv64': (0xC00000F3, 47)}

_libc: Any = None
_program: tuple[Any, int] | None = None


def prepare() -> None:
    """Finds out whether the filter is needed, in a process from which guests are forked."""
    global _libc, _program
    _libc = ctypes.CDLL(None, use_errno=True)
    call = _CALLS.get(os.uname().machine)
    if call is None or (_libc.fallocate(-1, 0, ctypes.c_long(0), ctypes.c_long(1)) and ctypes.get_errno() != errno.EBADF):
        return
    architecture, number = call
    steps = (
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_IF_EQUAL, 0, 3, architecture),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_IF_EQUAL, 0, 1, number),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    )
    _program = ctypes.create_string_buffer(b''.join(struct.pack('=HBBI', *step) for step in steps)), len(steps)


def enter() -> None:
    """Forbids fallocate for this process, for what it executes, and for all children."""
    if _program is None:
        return
    steps, count = _program
    described = ctypes.create_string_buffer(struct.pack('@HP', count, ctypes.addressof(steps)))
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, described, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
