"""Work on files, done in a forked child with the guest's rights: a link can lead it only where the guest could go by itself."""

import errno
import os
import stat
import sys
import time

import patterns
from lean_json import encode
from protocol import Refused, to_bytes, to_text

_CHUNK = 262144
_AT_ONCE = 1 << 20
_CHANGED = 'was changed meanwhile'


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


def _read_file(fields, source, sink):
    # Non-blocking, so that opening a named pipe does not wait for its writer.
    fd = os.open(to_bytes(fields['path']), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise Refused('FILE_FAILED', 'is a directory' if stat.S_ISDIR(status.st_mode) else 'is not a regular file')
    if fields['offset']:
        os.lseek(fd, fields['offset'], os.SEEK_SET)
    left = fields['maxBytes']
    while left > 0:
        moved = _move(fd, sink, left)
        if not moved:
            break
        left -= moved
    return {'size': max(status.st_size, fields['offset'] + fields['maxBytes'] - left), 'version': _version(status)}


def _write_file(fields, source, sink):
    path = _target(fields)
    if 'expected' in fields and fields['expected'] != _version_of(path):
        raise Refused('FILE_FAILED', _CHANGED)
    mode = fields['mode'] if 'mode' in fields else _present_mode(path)
    write_atomically(path, mode, lambda fd: _copy(source, fd, fields['size']))
    return {}


def _write_part(fields, source, sink):
    """One piece of a file that comes as a stream; the pieces gather beside the place where the file will be."""
    part = _part_of(_target(fields), fields)
    flags = os.O_WRONLY | os.O_NOFOLLOW | (os.O_CREAT if fields['offset'] == 0 else 0)
    fd = os.open(part, flags, 0o600)
    os.lseek(fd, fields['offset'], os.SEEK_SET)
    _copy(source, fd, fields['size'])
    return {}


def _commit_parts(fields, source, sink):
    path = _target({**fields, 'parents': False})
    part = _part_of(path, fields)
    if os.stat(part).st_size != fields['size']:
        raise Refused('FILE_FAILED', 'the pieces of the upload do not make up the whole')
    os.chmod(part, fields['mode'] if 'mode' in fields else _present_mode(path))
    os.rename(part, path)
    return {}


def _drop_parts(fields, source, sink):
    try:
        os.unlink(_part_of(os.path.realpath(to_bytes(fields['path'])), fields))
    except FileNotFoundError:
        pass
    return {}


def _pack_directory(fields, source, sink):
    return sys.modules['archive'].pack(to_bytes(fields['path']), sink)


def _unpack_directory(fields, source, sink):
    return sys.modules['archive'].unpack(to_bytes(fields['path']), source)


def _watch(fields, source, sink):
    return sys.modules['watch'].watch(to_bytes(fields['path']), fields['recursive'], lambda kind, path: _write_line(sink, {'type': kind, 'path': to_text(path)}))


def _list_files(fields, source, sink):
    root = os.path.abspath(to_bytes(fields['path']))
    fits = patterns.compile_pattern(to_bytes(fields['pattern']), True) if 'pattern' in fields else None
    os.listdir(root)
    left = fields['maxEntries']
    for path, status in _walk(root, lambda path: fields['recursive']):
        relative = path[len(root.rstrip(b'/')) + 1 :]
        if fits is not None and not fits(relative if b'/' in to_bytes(fields['pattern']) else os.path.basename(path)):
            continue
        if left == 0:
            return {'truncated': True}
        left -= 1
        _write_line(sink, _describe(path, status))
    return {'truncated': False}


def _glob(fields, source, sink):
    pattern = to_bytes(fields['pattern'])
    # The part without wildcards says where to look, and nothing else of the tree is read.
    base = patterns.fixed_part(pattern)
    root = os.path.abspath(os.path.join(to_bytes(fields['path']), base))
    fits = patterns.compile_pattern(pattern, fields['hidden'])
    depth = patterns.depth(pattern)
    prefix = base if base in (b'', b'/') else base + b'/'
    start = len(root.rstrip(b'/')) + 1
    left = fields['maxEntries']

    def inside(path):
        relative = path[start:]
        if not fields['hidden'] and os.path.basename(path).startswith(b'.') and b'/.' not in b'/' + pattern:
            return False
        return depth is None or prefix.count(b'/') + relative.count(b'/') + 1 < depth

    for path, _ in _walk(root, inside):
        name = prefix + path[start:]
        if not fits(name):
            continue
        if left == 0:
            return {'truncated': True}
        left -= 1
        _write_line(sink, {'path': to_text(name)})
    return {'truncated': False}


def _walk(root, enters):
    """Each entry below `root` with its status, directory by directory; links are not followed, and what cannot be read is left out."""
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            continue
        found = []
        for name in names:
            path = os.path.join(directory, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            yield path, status
            if stat.S_ISDIR(status.st_mode) and enters(path):
                found.append(path)
        waiting.extend(reversed(found))


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
    os.rename(to_bytes(fields['from']), to_bytes(fields['to']))
    return {}


_OPERATIONS = {
    'readFile': _read_file,
    'writeFile': _write_file,
    'writePart': _write_part,
    'commitParts': _commit_parts,
    'dropParts': _drop_parts,
    'packDirectory': _pack_directory,
    'unpackDirectory': _unpack_directory,
    'watch': _watch,
    'glob': _glob,
    'listFiles': _list_files,
    'fileInfo': _file_info,
    'removeFile': _remove_file,
    'createDirectory': _create_directory,
    'rename': _rename,
}
NAMES = tuple(_OPERATIONS)
TAKING_DATA = ('writeFile', 'writePart', 'unpackDirectory')


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
        'accessedAt': _timestamp(status.st_atime_ns),
        'changedAt': _timestamp(status.st_ctime_ns),
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


def _version(status):
    """Differs when the content may."""
    return f'{status.st_dev}-{status.st_ino}-{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}'


def _version_of(path):
    """Empty when there is nothing."""
    try:
        return _version(os.stat(path))
    except FileNotFoundError:
        return ''


def _target(fields):
    """Where a file is to be written: a link is written through, as every editor does."""
    path = os.path.realpath(to_bytes(fields['path']))
    if os.path.isdir(path):
        raise Refused('FILE_FAILED', 'is a directory')
    if fields['parents']:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def _part_of(path, fields):
    directory, name = os.path.split(path)
    return os.path.join(directory, b'.%s.%s.part' % (name[:100], fields['uploadId'].encode()))


def write_atomically(path, mode, fill):
    """`fill` is given a descriptor to write to; on any failure nothing is left beside the file."""
    directory, name = os.path.split(path)
    temporary = os.path.join(directory, b'.%s.%d-%d' % (name[:100], os.getpid(), time.monotonic_ns()))
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        fill(fd)
        os.fchmod(fd, mode)
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    finally:
        os.close(fd)


def _copy(source, fd, left):
    while left > 0:
        moved = _move(source, fd, left)
        if not moved:
            raise Refused('FILE_FAILED', 'the upload was cut')
        left -= moved


def _move(source, sink, most):
    """Some bytes between a file and a pipe, within the kernel where it can; returns how many, 0 at the end."""
    try:
        return os.splice(source, sink, min(_AT_ONCE, most))
    except (AttributeError, OSError):  # Python has it since 3.10; what cannot be written fails below as well
        pass
    data = os.read(source, min(_CHUNK, most))
    write_all(sink, data)
    return len(data)


def _write_line(sink, value):
    write_all(sink, encode(value).encode() + b'\n')


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
