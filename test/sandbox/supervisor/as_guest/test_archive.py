from __future__ import annotations

import contextlib
import errno
import io
import os
import tarfile
from typing import TYPE_CHECKING, Any

from as_guest import archive, file_content

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


def test_memory_does_not_grow_with_the_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_content, 'Alone', contextlib.nullcontext)
    opened: list[Any] = []
    open_tar = tarfile.open

    def remembering(**options: Any) -> Any:
        opened.append(open_tar(**options))
        return opened[-1]

    monkeypatch.setattr(tarfile, 'open', remembering)
    home = tmp_path / 'home'
    home.mkdir()
    for number in range(20):
        (home / str(number)).write_text('x')
    with open(tmp_path / 'tar', 'wb') as sink:
        assert archive.pack(os.fsencode(home), sink.fileno())['files'] == 20
    with open(tmp_path / 'tar', 'rb') as source:
        assert archive.unpack(os.fsencode(tmp_path / 'copy'), source.fileno())['files'] == 20
    assert sorted(os.listdir(tmp_path / 'copy')) == sorted(os.listdir(home))
    assert [len(each.members) for each in opened] == [0, 0]
