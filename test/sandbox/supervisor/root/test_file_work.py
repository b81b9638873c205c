from __future__ import annotations

import errno
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from root.file_work import FileWork

if TYPE_CHECKING:
    from root.loop import Loop


def test_what_is_held_still_goes_on_when_the_work_cannot_begin(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def hold_still() -> list[int]:
        done.append('held')
        return []

    writers: Any = SimpleNamespace(hold_still=hold_still, go_on=lambda: done.append('went on'))
    channel: Any = SimpleNamespace(handler=None)

    def no_pipe() -> tuple[int, int]:
        raise OSError(errno.EMFILE, 'Too many open files')

    monkeypatch.setattr(os, 'pipe', no_pipe)
    with pytest.raises(OSError, match='Too many open files'):
        FileWork(channel, loop, 'createCheckpoint', {}, (os.getuid(), os.getgid()), b'/', set(), writers)
    assert done == ['held', 'went on']
