"""Puts the files of a skill into a directory, read-only, in place of what is there."""

from __future__ import annotations

import base64
import os
import shutil
import tempfile

from prelude import refuse_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(arguments: dict[str, Any]) -> dict[str, Any]:
    directory: str = arguments['directory']
    parent = os.path.dirname(directory)
    try:
        os.makedirs(parent, exist_ok=True)
        fresh = tempfile.mkdtemp(prefix='.new-', dir=parent)
        for file in arguments['files']:
            write(os.path.join(fresh, file['path']), base64.b64decode(file['content']), bool(file['executable']))
        replace(directory, fresh)
    except OSError as error:
        refuse_error(directory, error)
    return {'files': len(arguments['files'])}


def write(path: str, data: bytes, executable: bool) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'xb') as file:
        file.write(data)
    os.chmod(path, 0o555 if executable else 0o444)


def replace(directory: str, fresh: str) -> None:
    """The directory is closed only at the end: nothing can be made in, or removed from, one that is read-only. What was there may be anything, also a link."""
    aside = f'{fresh}.old'
    if os.path.lexists(directory):
        if not os.path.islink(directory):
            os.chmod(directory, 0o755)
        os.rename(directory, aside)
    os.rename(fresh, directory)
    for place, _, _ in os.walk(directory, topdown=False):
        os.chmod(place, 0o555)
    remove(aside)


def remove(path: str) -> None:
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
        return
    for place, _, _ in os.walk(path):
        os.chmod(place, 0o755)
    shutil.rmtree(path, ignore_errors=True)
