"""Work on files, done in a forked child with the guest's rights: a link can lead it only where the guest could go by itself."""

import errno
import json
import os
import stat
import time

from protocol import Refused, to_bytes, to_text

_CHUNK = 65536


def perform(operation, fields, home, source, sink):
    """Returns the operation's end; `source` and `sink` are blocking descriptors for file data. Raises `Refused`."""
    try:
        os.chdir(home)
        return _OPERATIONS[operation](fields, source, sink)
    except OSError as error:
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        raise Refused('FILE_NOT_FOUND' if missing else 'FILE_FAILED', error.strerror or repr(error)) from error


def _read_file(fields, source, sink):
    # Non-blocking, so that opening a named pipe does not wait for its writer.
    fd = os.open(to_bytes(fields['path']), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise Refused('FILE_FAILED', 'is a directory' if stat.S_ISDIR(status.st_mode) else 'is not a regular file')
    left = fields['maxBytes']
    while left > 0:
        data = os.read(fd, min(_CHUNK, left))
        if not data:
            break
        _write_all(sink, data)
        left -= len(data)
    return {'size': max(status.st_size, fields['maxBytes'] - left)}


def _write_file(fields, source, sink):
    # A link is written through, as every editor does.
    path = os.path.realpath(to_bytes(fields['path']))
    if os.path.isdir(path):
        raise Refused('FILE_FAILED', 'is a directory')
    directory, name = os.path.split(path)
    os.makedirs(directory, exist_ok=True)
    mode = fields['mode'] if 'mode' in fields else _present_mode(path)
    temporary = os.path.join(directory, b'.%s.%d-%d' % (name[:100], os.getpid(), time.monotonic_ns()))
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        left = fields['size']
        while left > 0:
            data = os.read(source, min(_CHUNK, left))
            if not data:
                raise Refused('FILE_FAILED', 'the upload was cut')
            _write_all(fd, data)
            left -= len(data)
        os.fchmod(fd, mode)
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return {}


def _list_files(fields, source, sink):
    root = os.path.abspath(to_bytes(fields['path']))
    waiting = [root]
    left = fields['maxEntries']
    while waiting:
        directory = waiting.pop()
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            if directory == root:
                raise
            continue
        found = []
        for name in names:
            path = os.path.join(directory, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if left == 0:
                return {'truncated': True}
            left -= 1
            _write_all(sink, json.dumps(_describe(path, status), separators=(',', ':')).encode() + b'\n')
            if fields['recursive'] and stat.S_ISDIR(status.st_mode):
                found.append(path)
        waiting.extend(reversed(found))
    return {'truncated': False}


def _file_info(fields, source, sink):
    path = os.path.abspath(to_bytes(fields['path']))
    try:
        return {'info': _describe(path, os.lstat(path))}
    except (FileNotFoundError, NotADirectoryError):
        return {}


def _remove_file(fields, source, sink):
    _remove(to_bytes(fields['path']), fields['recursive'])
    return {}


def _create_directory(fields, source, sink):
    try:
        os.makedirs(to_bytes(fields['path']), exist_ok=True)
    except NotADirectoryError as error:
        raise Refused('FILE_FAILED', error.strerror) from error
    return {}


def _rename(fields, source, sink):
    os.rename(to_bytes(fields['from']), to_bytes(fields['to']))
    return {}


_OPERATIONS = {
    'readFile': _read_file,
    'writeFile': _write_file,
    'listFiles': _list_files,
    'fileInfo': _file_info,
    'removeFile': _remove_file,
    'createDirectory': _create_directory,
    'rename': _rename,
}
NAMES = tuple(_OPERATIONS)


def _remove(path, recursive):
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    if recursive:
        for name in os.listdir(path):
            _remove(os.path.join(path, name), True)
    os.rmdir(path)


def _describe(path, status):
    kind = stat.S_IFMT(status.st_mode)
    info = {
        'path': to_text(path),
        'type': {stat.S_IFREG: 'file', stat.S_IFDIR: 'directory', stat.S_IFLNK: 'link'}.get(kind, 'other'),
        'size': status.st_size,
        'mode': stat.S_IMODE(status.st_mode),
        'modifiedAt': _timestamp(status.st_mtime_ns),
    }
    if kind == stat.S_IFLNK:
        try:
            info['linkTarget'] = to_text(os.readlink(path))
        except OSError:
            pass
    return info


def _timestamp(nanoseconds):
    # The guest may set any time, also one that no calendar holds.
    try:
        seconds = time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(nanoseconds // 10**9))
    except (OverflowError, ValueError, OSError):
        return '1970-01-01T00:00:00.000Z'
    return f'{seconds}.{nanoseconds // 10**6 % 1000:03d}Z'


def _present_mode(path):
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0o644


def _write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
