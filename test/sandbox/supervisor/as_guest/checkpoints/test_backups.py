"""Streams of checkpoints for a backup, and homes that are made of them."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test.sandbox.supervisor.as_guest.checkpoints.conftest import Sandbox, fill

from as_guest.checkpoints.operations import OPERATIONS
from shared.lean_json import dumps, loads
from shared.protocol import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable

ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason='only root may act as another user')
SUPERVISOR = Path(__file__).parents[5] / 'src/sandbox/supervisor'
MEGABYTE = 1 << 20


class Backup:
    """The streams that a worker keeps, as it keeps them."""

    def __init__(self) -> None:
        self.parts: list[dict[str, Any]] = []

    def take(self, sandbox: Sandbox, keep: int = 1) -> int:
        """Returns the size of the stream."""
        checkpoint = sandbox.create(keep=keep)['checkpoint']
        stream, end = pack(sandbox, checkpoint, [f'{part["to"]} {part["bytes"]} {part["at"]}' for part in self.parts])
        kept = [part for part in self.parts if part['to'] <= end['since']]
        self.parts = [*kept, {'to': checkpoint['number'], 'at': checkpoint['at'], 'bytes': end['bytes'], 'stream': stream}]
        return len(stream)

    def bring_back(self, volume: Path) -> subprocess.CompletedProcess[str]:
        return bring_back(volume, (part['stream'] for part in self.parts))


def pack(sandbox: Sandbox, checkpoint: dict[str, Any], known: list[str]) -> tuple[bytes, dict[str, Any]]:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.chdir(sandbox.home)
        fields = {'store': str(sandbox.store), 'number': checkpoint['number'], 'at': checkpoint['at'], 'known': known}
        try:
            outcome = OPERATIONS['packCheckpoint'](fields, write)
        except Exception as error:
            outcome = {'refused': error.problem if isinstance(error, Refused) else repr(error)}
        (sandbox.store.parent / 'outcome').write_text(dumps(outcome))
        os._exit(0)
    os.close(write)
    with open(read, 'rb') as file:
        stream = file.read()
    os.waitpid(pid, 0)
    outcome = loads((sandbox.store.parent / 'outcome').read_text())
    if 'refused' in outcome:
        raise Refused('FILE_CHANGED', outcome['refused'])
    return stream, outcome


def bring_back(volume: Path, streams: Iterable[bytes]) -> subprocess.CompletedProcess[str]:
    volume.mkdir()
    volume.parent.chmod(0o755)
    program = f'import sys; sys.path.insert(0, {str(SUPERVISOR)!r}); from as_guest.checkpoints.bring_back import main; main({str(volume)!r}, (1000, 1000))'
    packed = b''.join(gzip.compress(stream, 1) for stream in streams)
    done = subprocess.run([sys.executable, '-I', '-S', '-B', '-c', program], input=packed, capture_output=True, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def reachable(tmp_path: Path) -> Path:
    """A directory that each user reaches."""
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_uid == os.geteuid() and directory != Path('/'):
            directory.chmod(directory.stat().st_mode | 0o755)
    return tmp_path


def sandbox_of(volume: Path) -> Sandbox:
    found = Sandbox.__new__(Sandbox)
    found.home, found.store = volume / 'user', volume / '.longshore/checkpoints'
    found._keys = 1000
    return found


@ONLY_ROOT
def test_a_home_comes_back_as_it_was(sandbox: Sandbox, reachable: Path) -> None:
    fill(sandbox.home)
    os.link(sandbox.home / 'a.txt', sandbox.home / 'other name')
    with open(sandbox.home / 'holes', 'wb') as file:
        file.seek(1 << 24)
        file.write(b'end')
    with open(os.fsencode(sandbox.home) + b'/\xff\n"odd', 'wb') as file:
        file.write(b'odd')
    sandbox.home.chmod(0o750)
    backup = Backup()
    assert backup.take(sandbox) < MEGABYTE
    (sandbox.home / 'a.txt').unlink()
    (sandbox.home / 'late').write_text('late')
    backup.take(sandbox)
    volume = reachable / 'volume'
    done = backup.bring_back(volume)
    assert (done.returncode, done.stderr) == (0, '')
    back = sandbox_of(volume)
    assert back.tree() == sandbox.tree()
    assert {path.lstat().st_uid for path in (back.home, *back.home.rglob('*'))} == {1000}
    assert back.home.stat().st_mode == sandbox.home.stat().st_mode
    assert (back.home / 'holes').stat().st_blocks * 512 < MEGABYTE


@ONLY_ROOT
def test_it_goes_on_from_there_with_what_changes(sandbox: Sandbox, reachable: Path) -> None:
    for number in range(20):
        (sandbox.home / f'file {number}').write_bytes(random.randbytes(MEGABYTE))
    backup = Backup()
    assert backup.take(sandbox) > 20 * MEGABYTE
    assert backup.bring_back(reachable / 'volume').returncode == 0
    back = sandbox_of(reachable / 'volume')
    assert back.create()['made'] is False
    (back.home / 'file 3').write_bytes(b'changed')
    assert backup.take(back) < MEGABYTE / 10
    assert backup.bring_back(reachable / 'again').returncode == 0
    assert sandbox_of(reachable / 'again').tree() == back.tree()


@ONLY_ROOT
def test_kept_checkpoints_come_back_too(sandbox: Sandbox, reachable: Path) -> None:
    backup = Backup()
    for text in ('one', 'two', 'three', 'four'):
        (sandbox.home / 'a.txt').write_text(text)
        backup.take(sandbox, keep=3)
    assert backup.bring_back(reachable / 'volume').returncode == 0
    back = sandbox_of(reachable / 'volume')
    assert [each['number'] for each in back.list()] == [2, 3, 4, 5]
    back.restore(3)
    assert (back.home / 'a.txt').read_text() == 'three'


def test_a_change_sends_about_what_changed(sandbox: Sandbox) -> None:
    for number in range(200):
        (sandbox.home / f'file {number}').write_bytes(random.randbytes(100_000))
    backup = Backup()
    first = backup.take(sandbox)
    sent = []
    for turn in range(40):
        (sandbox.home / f'file {turn}').write_bytes(random.randbytes(100_000))
        sent.append(backup.take(sandbox))
    assert min(sent) < 200_000
    # All streams since, with those that were sent again: about what changed, times the logarithm of the number of changes.
    assert sum(sent) < first * 1.5
    assert len(backup.parts) < 10
    assert sum(len(part['stream']) for part in backup.parts) < first * 2


def test_what_is_not_needed_any_more_is_not_kept(sandbox: Sandbox) -> None:
    backup = Backup()
    for _ in range(10):
        (sandbox.home / 'file').write_bytes(random.randbytes(MEGABYTE))
        backup.take(sandbox)
    assert sum(len(part['stream']) for part in backup.parts) < 3 * MEGABYTE


def test_a_copy_that_went_on_in_another_way_does_not_build_on_later_streams(sandbox: Sandbox, tmp_path: Path) -> None:
    backup = Backup()
    (sandbox.home / 'large').write_bytes(random.randbytes(MEGABYTE))
    backup.take(sandbox)
    shutil.copytree(sandbox.store, tmp_path / 'snapshot')
    for text in ('one', 'two'):
        (sandbox.home / 'a.txt').write_text(text)
        backup.take(sandbox)
    # The volume is lost, and the snapshot takes its place.
    shutil.rmtree(sandbox.store)
    shutil.copytree(tmp_path / 'snapshot', sandbox.store)
    (sandbox.home / 'a.txt').write_text('three')
    sandbox.create(keep=1)
    (sandbox.home / 'a.txt').write_text('four')
    assert backup.take(sandbox) < MEGABYTE / 10
    names = {loads(line)['name'] for part in backup.parts for line in part['stream'].split(b'\n') if line.startswith(b'{"name"')}
    assert [part['to'] for part in backup.parts] == [1, 3]
    assert any(name.startswith('objects/3/') for name in names)


def test_an_older_checkpoint_is_not_sent(sandbox: Sandbox) -> None:
    (sandbox.home / 'a.txt').write_text('one')
    first = sandbox.create()['checkpoint']
    (sandbox.home / 'a.txt').write_text('two')
    sandbox.create()
    with pytest.raises(Refused, match='there is a newer checkpoint'):
        pack(sandbox, first, [])


@ONLY_ROOT
@pytest.mark.parametrize(
    ('damage', 'message'),
    [
        (lambda stream: stream[: len(stream) // 2], ''),
        (lambda stream: stream[: stream.rindex(b'{"end"')], 'a stream ends early'),
        (lambda stream: b'', 'there is nothing to unpack'),
        (lambda stream: stream.replace(b'"name":"latest.json"', b'"name":"../../../escape"'), "'../../../escape' is no file of a backup"),
        (lambda stream: stream.replace(b'"name":"objects/1/1"', b'"name":"/etc/passwd"'), "'/etc/passwd' is no file of a backup"),
        (lambda stream: stream.replace(b'{"at":0,', b'{"at":9000000,'), 'a part of a file is not complete'),
    ],
)
def test_a_damaged_stream_is_refused(sandbox: Sandbox, reachable: Path, damage: Any, message: str) -> None:
    fill(sandbox.home)
    backup = Backup()
    backup.take(sandbox)
    done = bring_back(reachable / 'volume', [damage(backup.parts[0]['stream'])])
    assert done.returncode != 0
    assert message in done.stderr
    assert sorted(path.name for path in reachable.iterdir()) == ['checkpoints', 'home', 'outcome', 'volume']
