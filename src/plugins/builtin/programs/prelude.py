"""Starts the other programs of this folder, and is the module that they import. Its argument is the text of a program. The arguments of the tool come as
JSON on stdin. The answer is one JSON object, in which a refusal is a value that names the path. Loading Python's json and shutting down the interpreter
would take as long as all the rest. So this uses the C core of json directly (json itself if that fails), and ends with `os._exit`."""

from __future__ import annotations

import errno
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MAX_FILE_BYTES = 50_000_000
_PROBLEMS = {
    errno.ENOENT: 'no such file or directory',
    errno.EISDIR: 'is a directory',
    errno.ENOTDIR: 'a part of the path is not a directory',
    errno.EACCES: 'permission denied',
    errno.EROFS: 'this part of the file system is read-only; write below /home/user or /tmp',
    errno.ENOSPC: 'no space is left',
    errno.ELOOP: 'too many links',
    errno.ENAMETOOLONG: 'the name is too long',
}


class Refusal(Exception):
    """What stands in the way, for the model."""


def refuse_error(path: str, error: OSError) -> NoReturn:
    problem = error.strerror or str(error)
    raise Refusal(f'{path}: {problem if error.errno is None else _PROBLEMS.get(error.errno, problem)}')


def shown(name: str) -> str:
    """A name as it is, or quoted with escapes where a part of it would not be seen, or would look like another line."""
    text = os.fsencode(name).decode(errors='backslashreplace')
    return text if text.isprintable() else repr(text)


def read_text(path: str) -> bytes:
    try:
        # A pipe or a device would make the read wait for ever.
        if not os.path.isdir(path) and os.path.exists(path) and not os.path.isfile(path):
            raise Refusal(f'{path}: is not a regular file')
        with open(path, 'rb') as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        refuse_error(path, error)
    if len(data) > MAX_FILE_BYTES:
        raise Refusal(f'{path}: is larger than 50 MB; use shell:run with head, sed or rg')
    if b'\0' in data[:8192]:
        raise Refusal(f'{path}: is a binary file of {len(data)} bytes; use shell:run with a tool that knows it')
    return data


def write_atomically(path: str, data: bytes) -> None:
    try:
        target = os.path.realpath(path)
        if os.path.isdir(target):
            raise Refusal(f'{path}: is a directory')
        os.makedirs(os.path.dirname(target), exist_ok=True)
        mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else 0o644
        # Of names, the file system counts the bytes.
        name = os.fsencode(os.path.basename(target))[:200].decode(errors='ignore')
        beside = os.path.join(os.path.dirname(target), f'.{name}.new{os.getpid()}')
        try:
            with open(beside, 'wb') as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)
            os.replace(beside, target)
        except OSError:
            if os.path.exists(beside):
                os.unlink(beside)
            raise
    except OSError as error:
        refuse_error(path, error)


class _Scanning:
    strict = True
    memo: dict[str, str] = {}  # noqa: RUF012
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def parse(text: str) -> Any:
    try:
        import _json

        return _json.make_scanner(_Scanning)(text, 0)[0]  # type: ignore[arg-type]
    except Exception:  # whatever another Python finds wrong with it
        import json

        return json.loads(text)


def render(value: object) -> str:
    try:
        import _json

        parts = _json.make_encoder(None, None, _json.encode_basestring_ascii, None, ': ', ', ', False, False, True)  # type: ignore[arg-type]
        return ''.join(parts(value, 0))
    except Exception:  # whatever another Python finds wrong with it
        import json

        return json.dumps(value)


def run(program: str) -> None:
    """Ends the process with the answer of the program's function `main`."""
    sys.modules['prelude'] = sys.modules[__name__]
    namespace: dict[str, Any] = {'__name__': 'program'}
    exec(compile(program, 'program', 'exec', dont_inherit=True), namespace)
    try:
        result = {'ok': namespace['main'](parse(sys.stdin.read()))}
    except Refusal as refusal:
        result = {'problem': str(refusal)}
    except ValueError as error:
        # Code may give a path with NUL, or half a character, which no file can have.
        result = {'problem': f'the arguments cannot be used: {error}'}
    print(render(result), flush=True)
    os._exit(0)


if __name__ == '__main__':
    run(sys.argv[1])
