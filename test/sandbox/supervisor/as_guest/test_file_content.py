from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from as_guest import file_content
from as_guest.file_content import SparseWriter, read_file, write_file
from shared.protocol import Refused

if TYPE_CHECKING:
    from pathlib import Path

BLOCK = 4096


class Lock:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests have no other children, and not the descriptor that they would lock."""
    monkeypatch.setattr(file_content, 'Alone', Lock)


def write(path: Path, data: bytes, **fields: Any) -> None:
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    try:
        write_file({'path': str(path), 'size': len(data), 'parents': False, **fields}, reader, -1)
    finally:
        os.close(reader)


def read(path: Path, tmp_path: Path, offset: int = 0, most: int = 1 << 30) -> tuple[bytes, dict[str, Any]]:
    with open(tmp_path / 'read', 'w+b') as sink:
        end = read_file({'path': str(path), 'offset': offset, 'maxBytes': most}, -1, sink.fileno())
        sink.seek(0)
        return sink.read(), end


@pytest.mark.parametrize('piece', [1, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 10 * BLOCK])
def test_a_file_is_the_same_in_pieces_of_any_size_and_keeps_its_holes(tmp_path: Path, piece: int) -> None:
    data = b'a' * 10 + bytes(3 * BLOCK) + b'b' + bytes(BLOCK)
    fd = os.open(tmp_path / 'file', os.O_RDWR | os.O_CREAT)
    writer = SparseWriter(fd, 0)
    for at in range(0, len(data), piece):
        writer.write(data[at : at + piece])
    os.ftruncate(fd, writer.position)
    assert os.pread(fd, len(data) + 1, 0) == data
    assert os.fstat(fd).st_blocks * 512 <= 2 * BLOCK
    os.close(fd)


def test_a_file_is_written_as_a_whole_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / 'file'
    write(path, b'one', mode=0o600)
    write(path, b'three')
    assert path.read_bytes() == b'three'
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ['file']


def test_an_upload_that_ends_early_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / 'file'
    path.write_bytes(b'before')
    with pytest.raises(Refused, match='the upload ended 5 bytes early; upload it again'):
        write(path, b'after', size=10)
    assert path.read_bytes() == b'before'
    assert os.listdir(tmp_path) == ['file']


def test_a_file_that_has_changed_since_it_was_read_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / 'file'
    path.write_bytes(b'one')
    _, end = read(path, tmp_path)
    write(path, b'two', expected=end['version'])
    with pytest.raises(Refused) as refused:
        write(path, b'three', expected=end['version'])
    assert (refused.value.code, path.read_bytes()) == ('FILE_CHANGED', b'two')


def test_expecting_no_file_refuses_one_that_is_there(tmp_path: Path) -> None:
    write(tmp_path / 'file', b'one', expected='')
    with pytest.raises(Refused, match='it is not as it was read'):
        write(tmp_path / 'file', b'two', expected='')


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / 'link').symlink_to('file')
    write(tmp_path / 'link', b'one')
    assert (tmp_path / 'file').read_bytes() == b'one'
    assert (tmp_path / 'link').is_symlink()


def test_a_part_of_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / 'file'
    path.write_bytes(b'0123456789')
    assert read(path, tmp_path, 2, 3)[0] == b'234'
    whole, end = read(path, tmp_path, 8)
    assert (whole, end['size']) == (b'89', 10)
    assert read(path, tmp_path, 20)[0] == b''


@pytest.mark.parametrize(('make', 'problem'), [(os.mkdir, 'is a directory'), (os.mkfifo, 'is not a regular file')])
def test_only_regular_files_are_read(tmp_path: Path, make: Any, problem: str) -> None:
    make(tmp_path / 'it')
    with pytest.raises(Refused, match=problem):
        read(tmp_path / 'it', tmp_path)


def test_a_file_that_only_grew_while_it_was_read_keeps_its_version_and_any_other_has_none(tmp_path: Path) -> None:
    path = tmp_path / 'file'
    path.write_bytes(b'12345')
    before = os.stat(path)
    path.write_bytes(b'1234567')
    longer = os.stat(path)
    path.write_bytes(b'1')
    shorter = os.stat(path)
    assert file_content._what_was_read(before, longer, 5, True) == {'size': 5, 'version': file_content._version(before)}
    assert file_content._what_was_read(before, shorter, 5, True)['version'] == ''


@pytest.mark.parametrize('call', ['open', 'fchmod', 'rename'])
def test_a_write_that_a_signal_ends_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """Python runs the handler of a signal when the call has returned."""
    really = getattr(os, call)

    def ended(*arguments: Any, **named: Any) -> None:
        really(*arguments, **named)
        raise SystemExit(1)

    with monkeypatch.context() as patched:
        patched.setattr(os, call, ended)
        with pytest.raises(SystemExit):
            write(tmp_path / 'file', b'text')
    assert [path.name for path in tmp_path.iterdir()] == (['file'] if call == 'rename' else [])
