from __future__ import annotations

import os
import signal
import struct
from typing import TYPE_CHECKING

import pytest

from root.execs import runner
from root.execs.nursery import Nursery

if TYPE_CHECKING:
    from shared.shapes import Data


@pytest.mark.parametrize(
    ('command', 'status'),
    [(b'exit 7', 7 << 8), (b'kill -9 $$', signal.SIGKILL), (b'true', 0)],
)
def test_an_end_is_reported_while_the_pid_is_still_taken(monkeypatch: pytest.MonkeyPatch, command: bytes, status: int) -> None:
    write = os.write

    def write_and_look(fd: int, data: Data) -> int:
        if bytes(data[:1]) == runner.ENDED:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            return write(fd, bytes(data) + (b'taken' if ended else b'free'))
        return write(fd, data)

    monkeypatch.setattr(os, 'write', write_and_look)
    nursery = Nursery((os.geteuid(), os.getegid()), contained=False)
    spawned = nursery.start([b'/bin/sh', b'-c', command], b'/', {b'PATH': b'/bin:/usr/bin'}, False)
    nursery.leave()
    os.set_blocking(spawned.status, True)
    told = b''
    while data := os.read(spawned.status, 100):
        told += data
    assert told == runner.ENDED + struct.pack('>i', status) + b'taken'
    for fd in (spawned.stdout, spawned.stderr, spawned.status):
        os.close(fd)
