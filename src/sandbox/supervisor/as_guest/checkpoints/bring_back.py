"""Makes a home of the streams of a backup, in a job without a sandbox: first the store as it was, then the files as its newest checkpoint says,
with the rights of their user. Nothing in a stream is trusted: it names only files of the store."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys

from as_guest.checkpoints.entries import CLOSED, OTHER
from as_guest.checkpoints.restore import restore
from as_guest.checkpoints.store import Store
from shared.lean_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shared.shapes import Fields, Ids

_NAMES = re.compile(r'(latest|packed|older/[0-9]{1,10})\.json|objects/[0-9]{1,10}/[0-9]{1,10}')
_LINE = 1000
_PIECE = 1 << 20
_KEPT = 1000


def main(volume: str, user: Ids) -> None:
    """`volume`: what is mounted as `/home`."""
    store = f'{volume}/.longshore/checkpoints'
    with gzip.open(sys.stdin.buffer) as streams:
        newest = _unpack(streams, store)
    home = f'{volume}/user'
    os.mkdir(home)
    os.chown(home, *user)
    os.chmod(home, newest['home'])
    _act_as(user)
    with Store(store) as opened:
        missing = sum(entry[0] in (CLOSED, OTHER) for entry in opened.entries.values())
    key = f'backup.{os.urandom(8).hex()}'
    restored = restore({'store': store, 'number': newest['number'], 'at': newest['at'], 'key': key, 'keep': _KEPT}, os.fsencode(home))
    if restored['failed'] > missing:
        sys.exit(f'{restored["failed"]} paths could not be written: {list(zip(restored["paths"], restored["problems"]))}'[:2000])
    os.seteuid(0)
    subprocess.run(['sync', '-f', volume], check=True)


def _act_as(user: Ids) -> None:
    """As work on files in a sandbox: the effective id decides about access to the home, and the store is opened as root."""
    uid, gid = user
    os.umask(0o022)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(0, uid, 0)


def _unpack(streams: gzip.GzipFile, store: str) -> Fields:
    """Returns the first line of the newest stream."""
    os.makedirs(f'{store}/objects', 0o755)
    os.makedirs(f'{store}/older', 0o755)
    newest: Fields | None = None
    while True:
        line = streams.readline(_LINE)
        if not line:
            break
        newest = loads(line)
        _unpack_one(streams, store)
    if newest is None:
        sys.exit('there is nothing to unpack')
    for name in os.listdir(f'{store}/older'):
        # They were removed after an earlier stream.
        if int(name[:-5]) < newest['oldest']:
            os.unlink(f'{store}/older/{name}')
    return newest


def _unpack_one(streams: gzip.GzipFile, store: str) -> None:
    fd = -1
    size = 0
    while True:
        line = streams.readline(_LINE)
        if not line:
            sys.exit('a stream ends early')
        record = loads(line)
        if 'at' in record:
            length = min(record['bytes'], _PIECE)
            piece = streams.read(length)
            if len(piece) != record['bytes'] or record['at'] + length > size or os.pwrite(fd, piece, record['at']) != length:
                sys.exit('a part of a file is not complete')
            continue
        if fd >= 0:
            os.close(fd)
        if 'end' in record:
            return
        fd, size = _create(store, record['name']), record['size']
        os.ftruncate(fd, size)


def _create(store: str, name: str) -> int:
    if not _NAMES.fullmatch(name):
        sys.exit(f'{name!r} is no file of a backup')
    path = f'{store}/{name}'
    os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
