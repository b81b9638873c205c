"""Puts the files of a skill into a directory, read-only, in place of what is there."""

from __future__ import annotations

import base64
import os
import shutil
import stat
import tempfile

from prelude import refuse_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Others that share the sandbox may read the skill at the same moment, and change its place between any two steps.
TRIES = 100


def main(arguments: dict[str, Any]) -> dict[str, Any]:
    directory: str = arguments['directory']
    files = {file['path']: (base64.b64decode(file['content']), 0o555 if file['executable'] else 0o444) for file in arguments['files']}
    try:
        # A program of it may be running.
        if not has(directory, files):
            place(directory, files)
    except OSError as error:
        refuse_error(directory, error)
    return {'files': len(files)}


def has(directory: str, files: dict[str, tuple[bytes, int]]) -> bool:
    """Whether these files are there, and no others."""
    left = dict(files)
    try:
        if os.path.islink(directory):
            return False
        for at, directories, names in os.walk(directory):
            if stat.S_IMODE(os.lstat(at).st_mode) != 0o555 or any(os.path.islink(os.path.join(at, name)) for name in directories):
                return False
            for name in names:
                path = os.path.join(at, name)
                content, mode = left.pop(os.path.relpath(path, directory), (b'', 0))
                found = os.lstat(path)
                if found.st_mode != stat.S_IFREG | mode or found.st_size != len(content) or read(path) != content:
                    return False
    except OSError:
        return False
    return not left


def read(path: str) -> bytes:
    with open(path, 'rb') as file:
        return file.read()


def place(directory: str, files: dict[str, tuple[bytes, int]]) -> None:
    parent = os.path.dirname(directory)
    os.makedirs(parent, exist_ok=True)
    fresh = tempfile.mkdtemp(prefix='.new-', dir=parent)
    try:
        for path, (content, mode) in files.items():
            write(os.path.join(fresh, path), content, mode)
        for at, _, _ in os.walk(fresh, topdown=False):
            os.chmod(at, 0o555)
        replace(directory, fresh)
    finally:
        remove(fresh)


def write(path: str, data: bytes, mode: int) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'xb') as file:
        file.write(data)
    os.chmod(path, mode)


def replace(directory: str, fresh: str) -> None:
    """What is there may be anything, also a link."""
    for number in range(TRIES):
        aside = f'{fresh}.old{number}'
        try:
            if os.path.lexists(directory):
                os.rename(directory, aside)
            os.rename(fresh, directory)
            return
        except OSError:
            if number == TRIES - 1:
                raise
        finally:
            remove(aside)


def remove(path: str) -> None:
    if os.path.islink(path) or not os.path.isdir(path):
        if os.path.lexists(path):
            os.unlink(path)
        return
    for at, _, _ in os.walk(path):
        os.chmod(at, 0o755)
    shutil.rmtree(path, ignore_errors=True)
