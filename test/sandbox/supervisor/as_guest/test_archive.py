from __future__ import annotations

import errno
import io
import os
import tarfile
from typing import TYPE_CHECKING, Any

from as_guest import archive

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_file_that_cannot_be_read_to_its_end_leaves_the_rest_of_the_archive_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / 'home'
    home.mkdir()
    for name in 'abc':
        (home / name).write_text(name * 10_000)
    broken = os.stat(home / 'b').st_ino
    read = os.read

    def failing(fd: int, size: int) -> bytes:
        if os.fstat(fd).st_ino == broken:
            raise OSError(errno.EIO, 'Input/output error')
        return read(fd, size)

    monkeypatch.setattr(os, 'read', failing)
    with open(tmp_path / 'tar', 'wb') as sink:
        end: dict[str, Any] = archive.pack(os.fsencode(home), sink.fileno())
    monkeypatch.undo()
    with tarfile.open(fileobj=io.BytesIO((tmp_path / 'tar').read_bytes())) as made:
        contents = {entry.name: made.extractfile(entry).read() for entry in made}  # type: ignore[union-attr]
    assert contents == {'a': b'a' * 10_000, 'b': bytes(10_000), 'c': b'c' * 10_000}
    assert end['failed'] == 1
    assert list(end['paths']) == ['b']
    assert 'Input/output error' in end['problems'][0]
