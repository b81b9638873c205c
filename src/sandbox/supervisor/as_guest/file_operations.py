"""Work on files, done in a forked child with the guest's rights: a link can lead it only to files that the guest can reach itself."""

from __future__ import annotations

import errno
import os
import stat
import sys

from as_guest.file_content import Alone, commit_parts, drop_parts, read_file, write_file, write_line, write_part
from as_guest.file_lists import file_info, glob, list_files
from shared.protocol import Refused, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from shared.shapes import Fields


def prepare(operation: str) -> None:
    """Loads modules that few operations need; with the guest's rights they might not be readable later."""
    if operation in ('packDirectory', 'unpackDirectory'):
        import as_guest.archive
    elif operation == 'watch':
        import as_guest.watch
    elif operation in ON_CHECKPOINTS:
        import as_guest.checkpoints.operations  # noqa: F401


def perform(operation: str, fields: Fields, home: bytes, source: int, sink: int) -> Fields:
    """Returns the operation's end; `source` and `sink` are blocking descriptors for file data. Raises `Refused`."""
    try:
        os.chdir(home)
        if operation in ON_CHECKPOINTS:
            end: Fields = sys.modules['as_guest.checkpoints.operations'].OPERATIONS[operation](fields, sink)
            return end
        return _OPERATIONS[operation](fields, source, sink)
    except OSError as error:
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        raise Refused('FILE_NOT_FOUND' if missing else 'FILE_FAILED', error.strerror or repr(error)) from error


def _pack_directory(fields: Fields, source: int, sink: int) -> Fields:
    end: Fields = sys.modules['as_guest.archive'].pack(to_bytes(fields['path']), sink)
    return end


def _unpack_directory(fields: Fields, source: int, sink: int) -> Fields:
    end: Fields = sys.modules['as_guest.archive'].unpack(to_bytes(fields['path']), source)
    return end


def _watch(fields: Fields, source: int, sink: int) -> Fields:
    end: Fields = sys.modules['as_guest.watch'].watch(
        to_bytes(fields['path']), fields['recursive'], lambda kind, path: write_line(sink, {'type': kind, 'path': to_text(path)})
    )
    return end


def _remove_file(fields: Fields, source: int, sink: int) -> Fields:
    _remove(to_bytes(fields['path']), fields['recursive'])
    return {}


def _remove(path: bytes, recursive: bool) -> None:
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    if recursive:
        for name in os.listdir(path):
            _remove(os.path.join(path, name), True)
    os.rmdir(path)


def _create_directory(fields: Fields, source: int, sink: int) -> Fields:
    path = to_bytes(fields['path'])
    try:
        if fields['parents'] or os.path.isdir(path):
            os.makedirs(path, exist_ok=True)
        else:
            os.mkdir(path)
    except NotADirectoryError as error:
        raise Refused('FILE_FAILED', error.strerror or repr(error)) from error
    return {}


def _rename(fields: Fields, source: int, sink: int) -> Fields:
    with Alone():
        os.rename(to_bytes(fields['from']), to_bytes(fields['to']))
    return {}


_OPERATIONS: dict[str, Callable[[Fields, int, int], Fields]] = {
    'readFile': read_file,
    'writeFile': write_file,
    'writePart': write_part,
    'commitParts': commit_parts,
    'dropParts': drop_parts,
    'packDirectory': _pack_directory,
    'unpackDirectory': _unpack_directory,
    'watch': _watch,
    'glob': glob,
    'listFiles': list_files,
    'fileInfo': file_info,
    'removeFile': _remove_file,
    'createDirectory': _create_directory,
    'rename': _rename,
}
NAMES = tuple(_OPERATIONS)
# Commands and other work on files stand still meanwhile.
ALONE = ('createCheckpoint', 'restoreCheckpoint')
ON_CHECKPOINTS = (*ALONE, 'listCheckpoints', 'compareCheckpoint', 'packCheckpoint')
TAKING_DATA = ('writeFile', 'writePart', 'unpackDirectory')
