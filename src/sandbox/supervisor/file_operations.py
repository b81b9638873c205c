"""Work on files, done in a forked child with the guest's rights: a link can lead it only where the guest could go by itself."""

import errno
import os
import stat
import sys

from file_content import Alone, commit_parts, drop_parts, read_file, write_file, write_line, write_part
from file_lists import file_info, glob, list_files
from protocol import Refused, to_bytes, to_text


def prepare(operation):
    """Loads what few operations need; the guest's rights may not reach it later."""
    if operation in ('packDirectory', 'unpackDirectory'):
        import archive  # noqa: F401
    elif operation == 'watch':
        import watch  # noqa: F401


def perform(operation, fields, home, source, sink):
    """Returns the operation's end; `source` and `sink` are blocking descriptors for file data. Raises `Refused`."""
    try:
        os.chdir(home)
        return _OPERATIONS[operation](fields, source, sink)
    except OSError as error:
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        raise Refused('FILE_NOT_FOUND' if missing else 'FILE_FAILED', error.strerror or repr(error)) from error


def _pack_directory(fields, source, sink):
    return sys.modules['archive'].pack(to_bytes(fields['path']), sink)


def _unpack_directory(fields, source, sink):
    return sys.modules['archive'].unpack(to_bytes(fields['path']), source)


def _watch(fields, source, sink):
    return sys.modules['watch'].watch(to_bytes(fields['path']), fields['recursive'], lambda kind, path: write_line(sink, {'type': kind, 'path': to_text(path)}))


def _remove_file(fields, source, sink):
    _remove(to_bytes(fields['path']), fields['recursive'])
    return {}


def _remove(path, recursive):
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    if recursive:
        for name in os.listdir(path):
            _remove(os.path.join(path, name), True)
    os.rmdir(path)


def _create_directory(fields, source, sink):
    path = to_bytes(fields['path'])
    try:
        if fields['parents'] or os.path.isdir(path):
            os.makedirs(path, exist_ok=True)
        else:
            os.mkdir(path)
    except NotADirectoryError as error:
        raise Refused('FILE_FAILED', error.strerror) from error
    return {}


def _rename(fields, source, sink):
    with Alone():
        os.rename(to_bytes(fields['from']), to_bytes(fields['to']))
    return {}


_OPERATIONS = {
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
TAKING_DATA = ('writeFile', 'writePart', 'unpackDirectory')
