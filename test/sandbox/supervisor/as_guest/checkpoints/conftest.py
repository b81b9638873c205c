"""A home directory with its checkpoints."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import pytest

from as_guest.checkpoints.operations import OPERATIONS
from shared.lean_json import loads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Sandbox:
    def __init__(self, root: Path) -> None:
        self.home = root / 'home'
        self.store = root / 'checkpoints'
        self.home.mkdir()
        self._keys = 0

    def create(self, keep: int = 20, limit: int = 0, key: str | None = None) -> dict[str, Any]:
        return self._perform('createCheckpoint', keep=keep, diskBytes=limit, key=key)

    def restore(self, number: int, keep: int = 20, key: str | None = None) -> dict[str, Any]:
        made = next((each['at'] for each in self.list() if each['number'] == number), 'never')
        return self._perform('restoreCheckpoint', number=number, at=made, keep=keep, diskBytes=0, key=key)

    def list(self) -> list[dict[str, Any]]:
        read, write = os.pipe()
        OPERATIONS['listCheckpoints']({'store': str(self.store)}, write)
        os.close(write)
        with open(read, 'rb') as file:
            return [loads(line) for line in file]

    def tree(self) -> dict[str, object]:
        """All that a user can tell apart."""
        found: dict[str, object] = {}
        for path in sorted(self.home.rglob('*')):
            status = path.lstat()
            kind = stat.S_IFMT(status.st_mode)
            what: object = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ''
            times = status.st_mtime_ns if kind == stat.S_IFREG else 0
            found[str(path.relative_to(self.home))] = (kind, stat.S_IMODE(status.st_mode) if kind != stat.S_IFLNK else 0, times, what)
        return found

    def objects(self) -> int:
        return sum(path.is_file() for path in (self.store / 'objects').rglob('*'))

    def _perform(self, operation: str, key: str | None, **fields: Any) -> dict[str, Any]:
        self._keys += 1
        os.chdir(self.home)
        return OPERATIONS[operation]({'store': str(self.store), 'key': key or f'k{self._keys}', **fields}, -1)


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    monkeypatch.chdir(tmp_path)
    yield Sandbox(tmp_path)
    for path in tmp_path.rglob('*'):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def fill(home: Path) -> None:
    (home / 'src/deep').mkdir(parents=True)
    (home / 'a.txt').write_text('one')
    (home / 'src/b.txt').write_text('two')
    (home / 'src/deep/run.sh').write_text('#!/bin/sh\n')
    (home / 'src/deep/run.sh').chmod(0o755)
    (home / 'link').symlink_to('src/b.txt')
    (home / 'empty').mkdir(mode=0o700)
