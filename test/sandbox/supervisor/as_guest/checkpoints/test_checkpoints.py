"""Checkpoints of a home directory, made and restored."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest
from test.sandbox.supervisor.as_guest.checkpoints.conftest import fill

from as_guest.checkpoints.operations import OPERATIONS
from shared.protocol import Refused

if TYPE_CHECKING:
    from test.sandbox.supervisor.as_guest.checkpoints.conftest import Sandbox


def test_a_restore_makes_all_as_it_was(sandbox: Sandbox) -> None:
    fill(sandbox.home)
    before = sandbox.tree()
    made = sandbox.create()
    assert made['made'] is True
    assert {name: made['checkpoint'][name] for name in ('number', 'files', 'changed', 'leftOut')} == {'number': 1, 'files': 3, 'changed': 3, 'leftOut': 0}
    os.system(f'rm -rf {sandbox.home}/src {sandbox.home}/link {sandbox.home}/empty')
    (sandbox.home / 'a.txt').write_text('changed')
    (sandbox.home / 'new').mkdir()
    (sandbox.home / 'new/file').write_text('x')
    (sandbox.home / 'src').write_text('a file where a directory was')
    (sandbox.home / 'link').mkdir()
    restored = sandbox.restore(1)
    assert sandbox.tree() == before
    assert restored['failed'] == 0


def test_without_a_change_none_is_made(sandbox: Sandbox) -> None:
    fill(sandbox.home)
    sandbox.create()
    again = sandbox.create()
    assert again['made'] is False
    assert again['checkpoint']['number'] == 1
    assert [each['number'] for each in sandbox.list()] == [1]
    assert sandbox.objects() == 3


def test_only_what_changed_is_copied(sandbox: Sandbox) -> None:
    fill(sandbox.home)
    sandbox.create()
    (sandbox.home / 'a.txt').write_text('other')
    made = sandbox.create()['checkpoint']
    assert (made['number'], made['changed']) == (2, 1)
    assert sandbox.objects() == 4


def test_a_change_that_keeps_size_and_time_is_seen(sandbox: Sandbox) -> None:
    file = sandbox.home / 'a.txt'
    file.write_text('one')
    sandbox.create()
    status = file.stat()
    file.write_text('two')
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert sandbox.create()['made'] is True
    sandbox.restore(1)
    assert file.read_text() == 'one'


def test_a_change_of_rights_copies_no_content(sandbox: Sandbox) -> None:
    fill(sandbox.home)
    sandbox.create()
    (sandbox.home / 'a.txt').chmod(0o600)
    os.utime(sandbox.home / 'src/b.txt', (1, 1))
    assert sandbox.create()['made'] is True
    assert sandbox.objects() == 3
    sandbox.restore(1)
    assert stat.S_IMODE((sandbox.home / 'a.txt').stat().st_mode) == 0o644


def test_every_checkpoint_can_be_restored_in_any_order(sandbox: Sandbox) -> None:
    trees = {}
    for number in range(1, 6):
        (sandbox.home / f'file-{number}').write_text(str(number))
        (sandbox.home / 'same').write_text('x' * number)
        if number == 3:
            (sandbox.home / 'file-1').unlink()
        assert sandbox.create()['checkpoint']['number'] == number
        trees[number] = sandbox.tree()
    for number in (2, 5, 1, 4, 3):
        sandbox.restore(number)
        assert sandbox.tree() == trees[number]


def test_a_restore_can_be_taken_back(sandbox: Sandbox) -> None:
    fill(sandbox.home)
    sandbox.create()
    (sandbox.home / 'later').write_text('later')
    sandbox.create()
    after = sandbox.tree()
    assert sandbox.restore(1)['checkpoint']['number'] == 3
    sandbox.restore(2)
    assert sandbox.tree() == after
    # Nothing was copied for either.
    assert sandbox.objects() == 4


def test_the_oldest_go_with_what_only_they_had(sandbox: Sandbox) -> None:
    trees = {}
    for number in range(1, 7):
        (sandbox.home / 'changing').write_text(str(number))
        (sandbox.home / f'gone-{number}').write_text('soon')
        sandbox.create(keep=3)
        trees[number] = sandbox.tree()
        (sandbox.home / f'gone-{number}').unlink()
    assert [each['number'] for each in sandbox.list()] == [4, 5, 6]
    assert sandbox.objects() == 6
    with pytest.raises(Refused, match='no checkpoint 3'):
        sandbox.restore(3)
    sandbox.restore(4)
    assert sandbox.tree() == trees[4]


def test_a_checkpoint_of_another_volume_is_not_taken_for_this_one(sandbox: Sandbox) -> None:
    fill(sandbox.home)
    sandbox.create()
    os.chdir(sandbox.home)
    fields = {'store': str(sandbox.store), 'key': 'k', 'keep': 20, 'diskBytes': 0, 'number': 1, 'at': '2020-01-01T00:00:00.000Z'}
    with pytest.raises(Refused, match='no checkpoint 1 of 2020'):
        OPERATIONS['restoreCheckpoint'](fields, -1)


def test_a_repeated_request_is_one(sandbox: Sandbox) -> None:
    fill(sandbox.home)
    first = sandbox.create(key='turn-1')
    (sandbox.home / 'a.txt').write_text('later')
    assert sandbox.create(key='turn-1') == first
    sandbox.create(key='turn-2')
    assert sandbox.restore(1, key='rewind')['written'] > 0
    (sandbox.home / 'a.txt').write_text('even later')
    assert sandbox.restore(1, key='rewind')['written'] == 0
    assert (sandbox.home / 'a.txt').read_text() == 'even later'


def test_hard_links_stay_links_of_each_other_and_not_of_the_store(sandbox: Sandbox) -> None:
    (sandbox.home / 'one').write_text('shared')
    os.link(sandbox.home / 'one', sandbox.home / 'two')
    sandbox.create()
    assert sandbox.objects() == 1
    (sandbox.home / 'one').unlink()
    (sandbox.home / 'two').unlink()
    sandbox.restore(1)
    assert (sandbox.home / 'one').stat().st_ino == (sandbox.home / 'two').stat().st_ino
    assert (sandbox.home / 'one').stat().st_nlink == 2
    (sandbox.home / 'one').write_text('changed in place')
    sandbox.restore(1)
    assert (sandbox.home / 'two').read_text() == 'shared'
