"""Checkpoints of homes that are full of traps, and after crashes."""

from __future__ import annotations

import os
import socket
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from as_guest.checkpoints import content, store
from shared.protocol import Refused

if TYPE_CHECKING:
    from pathlib import Path

    from test.sandbox.supervisor.as_guest.checkpoints.conftest import Sandbox

NEVER_TRUE_FOR_ROOT = pytest.mark.skipif(os.geteuid() == 0, reason='root may read everything')


def test_links_lead_nowhere(sandbox: Sandbox, tmp_path: Path) -> None:
    outside = tmp_path / 'outside'
    outside.mkdir()
    (outside / 'secret').write_text('secret')
    (sandbox.home / 'dir').mkdir()
    (sandbox.home / 'dir/secret').write_text('own')
    sandbox.create()
    (sandbox.home / 'dir/secret').unlink()
    (sandbox.home / 'dir').rmdir()
    (sandbox.home / 'dir').symlink_to(outside)
    sandbox.create()
    assert 'secret' not in {path.name for path in sandbox.store.rglob('*')}
    sandbox.restore(1)
    assert (sandbox.home / 'dir/secret').read_text() == 'own'
    assert (outside / 'secret').read_text() == 'secret'


def test_pipes_sockets_and_odd_names(sandbox: Sandbox) -> None:
    os.mkfifo(sandbox.home / 'pipe')
    listener = socket.socket(socket.AF_UNIX)
    listener.bind('home/socket')
    odd = os.fsencode(sandbox.home) + b'/\xff\xfe\n"'
    with open(odd, 'wb') as file:
        file.write(b'odd')
    made = sandbox.create()['checkpoint']
    assert made['files'] == 1
    os.unlink(odd)
    (sandbox.home / 'other').write_text('x')
    os.mkfifo(sandbox.home / 'later')
    assert sandbox.restore(1)['failed'] == 0
    assert sorted(os.listdir(os.fsencode(sandbox.home))) == [b'pipe', b'socket', b'\xff\xfe\n"']
    listener.close()


def test_a_huge_file_of_holes_takes_no_room(sandbox: Sandbox) -> None:
    with open(sandbox.home / 'sparse', 'wb') as file:
        file.seek(1 << 36)
        file.write(b'end')
    made = sandbox.create()['checkpoint']
    assert made['addedBytes'] < 1 << 20
    (sandbox.home / 'sparse').unlink()
    sandbox.restore(1)
    status = (sandbox.home / 'sparse').stat()
    assert (status.st_size, status.st_blocks * 512 < 1 << 20) == ((1 << 36) + 3, True)


@NEVER_TRUE_FOR_ROOT
def test_what_cannot_be_read_is_left_as_it_is(sandbox: Sandbox) -> None:
    (sandbox.home / 'closed').mkdir()
    (sandbox.home / 'closed/inside').write_text('x')
    (sandbox.home / 'closed').chmod(0)
    (sandbox.home / 'unreadable').write_text('y')
    (sandbox.home / 'unreadable').chmod(0o200)
    (sandbox.home / 'plain').write_text('z')
    assert sandbox.create()['checkpoint']['leftOut'] == 2
    (sandbox.home / 'plain').write_text('zz')
    assert sandbox.restore(1)['failed'] == 0
    assert stat.S_IMODE((sandbox.home / 'closed').stat().st_mode) == 0
    (sandbox.home / 'closed').chmod(0o755)
    assert (sandbox.home / 'closed/inside').read_text() == 'x'


def test_a_directory_without_the_right_to_write_is_restored_with_its_rights(sandbox: Sandbox) -> None:
    (sandbox.home / 'module').mkdir()
    (sandbox.home / 'module/file').write_text('as it came')
    (sandbox.home / 'module/file').chmod(0o444)
    (sandbox.home / 'module').chmod(0o555)
    sandbox.create()
    (sandbox.home / 'module').chmod(0o755)
    (sandbox.home / 'module/file').unlink()
    (sandbox.home / 'module/more').write_text('more')
    (sandbox.home / 'module').chmod(0o555)
    assert sandbox.restore(1)['failed'] == 0
    assert sorted(os.listdir(sandbox.home / 'module')) == ['file']
    assert [stat.S_IMODE((sandbox.home / name).stat().st_mode) for name in ('module', 'module/file')] == [0o555, 0o444]


def test_a_very_deep_tree_is_left_out_below_a_depth(sandbox: Sandbox) -> None:
    os.chdir(sandbox.home)
    for _ in range(260):
        os.mkdir('d')
        os.chdir('d')
    made = sandbox.create()['checkpoint']
    assert made['leftOut'] == 1


def test_files_and_checkpoints_stay_within_the_limit(sandbox: Sandbox) -> None:
    limit = 10 << 20
    (sandbox.home / 'big').write_bytes(os.urandom(3 << 20))
    assert sandbox.create(limit=limit)['made'] is True
    (sandbox.home / 'big').write_bytes(os.urandom(3 << 20))
    assert sandbox.create(limit=limit)['made'] is True
    # The first gives way to the third.
    (sandbox.home / 'big').write_bytes(os.urandom(2 << 20))
    assert sandbox.create(limit=limit)['made'] is True
    assert [each['number'] for each in sandbox.list()] == [2, 3]
    (sandbox.home / 'big').write_bytes(os.urandom(5 << 20))
    with pytest.raises(Refused, match='more than the sandbox has room for'):
        sandbox.create(limit=limit)
    sandbox.restore(sandbox.list()[-1]['number'])
    assert (sandbox.home / 'big').stat().st_size == 2 << 20


def test_a_file_that_is_written_all_the_time_is_not_torn(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    file = sandbox.home / 'log'
    file.write_text('line\n')
    sandbox.create()
    file.write_text('line two\n')
    copy = content.copy

    def writing_copy(source: int, target: int, size: int) -> None:
        copy(source, target, size)
        with file.open('a') as more:
            more.write('more\n')

    monkeypatch.setattr('as_guest.checkpoints.create.copy', writing_copy)
    with pytest.raises(Refused, match='written all the time'):
        sandbox.create()
    monkeypatch.undo()
    assert [each['number'] for each in sandbox.list()] == [1]
    assert sandbox.objects() == 1
    assert sandbox.create()['made'] is True


@pytest.mark.parametrize('after', range(8))
def test_a_crash_at_any_write_leaves_the_checkpoints_that_were_there(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """The process dies, so nothing is undone; the next one finds what is on the disk."""
    for number in range(1, 4):
        (sandbox.home / 'file').write_text(str(number))
        sandbox.create(keep=3)
    last = sandbox.tree()
    (sandbox.home / 'file').write_text('4')
    current = sandbox.tree()
    pid = os.fork()
    if pid == 0:
        die_after(after)
        try:
            sandbox.create(keep=3)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert sandbox.tree() == current
    sandbox.create(keep=3)
    numbers = [each['number'] for each in sandbox.list()]
    assert numbers in ([2, 3, 4], [3, 4, 5])
    sandbox.restore(4)
    assert sandbox.tree() == current
    sandbox.restore(3, keep=4)
    assert sandbox.tree() == last
    assert sandbox.objects() <= 4


def die_after(calls: int) -> None:
    """Ends this process at the next change of the store after so many."""
    left = [calls]

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        changes = event in ('os.rename', 'os.remove', 'os.mkdir', 'os.rmdir') or (
            event == 'open' and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
        )
        if changes and 'checkpoints' in str(arguments[0]):
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)

    sys.addaudithook(watch)


def test_content_that_a_crash_of_the_machine_cut_short_is_not_restored(sandbox: Sandbox) -> None:
    (sandbox.home / 'file').write_text('whole')
    (sandbox.home / 'other').write_text('other')
    sandbox.create()
    (sandbox.home / 'file').write_text('later')
    (sandbox.home / 'other').write_text('later')
    sandbox.create()
    cut = next(path for path in (sandbox.store / 'objects/1').iterdir() if path.read_text() == 'whole')
    cut.write_text('')
    restored = sandbox.restore(1)
    assert (restored['failed'], list(restored['paths'])) == (1, ['file'])
    assert (sandbox.home / 'file').read_text() == 'later'
    assert (sandbox.home / 'other').read_text() == 'other'


def test_the_store_is_closed_to_others_and_can_be_counted(sandbox: Sandbox) -> None:
    (sandbox.home / 'file').write_text('x')
    sandbox.create()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in sandbox.store.rglob('*') if path.is_file()}
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in sandbox.store.rglob('*') if path.is_dir()} == {0o755}
    with store.Store(str(sandbox.store)) as opened:
        assert opened.stored == 4096
