from __future__ import annotations

import errno
import os
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from root.execs import journal
from root.execs.journal import Journal, preview
from shared.protocol import Refused

if TYPE_CHECKING:
    from pathlib import Path

SPEC: dict[str, Any] = {'command': 'true', 'startedAt': '2026-01-01T00:00:00.000Z', 'fingerprint': 'f'}


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / 'execs')


def begin(kept: Journal, exec_id: str, output: bytes = b'') -> int:
    claim = kept.claim(exec_id)
    assert claim is not None
    (stdout, stderr), exit_file = claim.keep(SPEC)
    os.write(stdout, output)
    os.close(stdout)
    os.close(stderr)
    return exit_file


def test_an_id_is_claimed_once_for_ever(root: str) -> None:
    kept = Journal(root)
    assert kept.claim('one')
    assert not kept.claim('one')
    assert not Journal(root).claim('one')
    assert kept.ids() == ['one']


def test_a_journal_that_cannot_be_written_refuses_the_command(root: str) -> None:
    kept = Journal(root)
    os.rmdir(root)
    with pytest.raises(Refused) as refused:
        kept.claim('one')
    assert (refused.value.code, refused.value.problem) == ('EXEC_FAILED', 'the journal cannot be written: No such file or directory')


def test_an_end_is_read_only_once_it_was_written(root: str) -> None:
    kept = Journal(root)
    exit_file = begin(kept, 'one', b'said')
    assert kept.read_exit('one') is None
    assert os.stat(kept.path('one', 'exit.json')).st_size == 512
    assert kept.write_exit(exit_file, {'status': 'exited', 'exitCode': 0})
    assert Journal(root).read_exit('one') == {'status': 'exited', 'exitCode': 0}
    assert os.stat(kept.path('one', 'exit.json')).st_size == 512
    assert kept.read_spec('one') == SPEC
    assert kept.sizes('one') == [4, 0]


def test_an_end_without_a_file_or_with_a_bad_one_was_not_written(root: str, tmp_path: Path) -> None:
    kept = Journal(root)
    assert not kept.write_exit(-1, {})
    readable = os.open(tmp_path, os.O_RDONLY)
    assert not kept.write_exit(readable, {})
    with pytest.raises(OSError, match='Bad file descriptor'):
        os.fstat(readable)


def test_only_root_reads_the_environment_and_all_read_the_output(root: str) -> None:
    before = os.umask(0o022)
    kept = Journal(root)
    os.close(begin(kept, 'one'))
    os.umask(before)
    modes = {name: os.stat(kept.path('one', name)).st_mode & 0o777 for name in os.listdir(f'{root}/one')}
    assert modes == {'spec.json': 0o600, 'stdout': 0o644, 'stderr': 0o644, 'exit.json': 0o644}


def test_what_is_missing_or_damaged_reads_as_nothing(root: str) -> None:
    kept = Journal(root)
    assert kept.read_spec('none') is None
    assert kept.read_exit('none') is None
    assert kept.sizes('none') == [0, 0]
    assert kept.open_outputs('none') == [-1, -1]
    os.close(begin(kept, 'one'))
    with open(kept.path('one', 'spec.json'), 'wb') as file:
        file.write(b'{"command": ')
    assert kept.read_spec('one') is None


def test_a_removal_that_was_cut_short_is_finished(root: str) -> None:
    kept = Journal(root)
    os.close(begin(kept, 'one'))
    os.unlink(kept.path('one', 'stdout'))
    kept.remove('one')
    assert not kept.exists('one')
    kept.remove('one')
    assert kept.ids() == []


def test_an_exec_is_past_when_another_supervisor_has_begun_since(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def life(begun: str) -> Journal:
        monkeypatch.setattr(journal, 'timestamp', lambda: begun)
        return Journal(root)

    life('2026-01-01').begin_life()
    # One that has started nothing does not count.
    life('2026-01-02')
    second = life('2026-01-03')
    assert not second.is_past({'startedAt': '2026-01-01T12'})
    second.begin_life()
    third = life('2026-01-04')
    assert third.is_past({'startedAt': '2026-01-01T12'})
    assert not third.is_past({'startedAt': '2026-01-03T12'})
    assert not third.is_past(None)


def test_what_ran_in_the_source_of_a_copy_is_past(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def life(begun: str) -> Journal:
        monkeypatch.setattr(journal, 'timestamp', lambda: begun)
        return Journal(root)

    life('2026-01-01').begin_life()
    mark = f'{root}.copied'
    with open(mark, 'w', encoding='ascii'):
        pass
    copy = life('2026-01-02')
    assert copy.is_past({'startedAt': '2026-01-01T12'})
    assert not os.path.exists(mark)
    # Also when the copy is started again without a command of its own.
    again = life('2026-01-03')
    assert again.is_past({'startedAt': '2026-01-01T12'})
    assert not again.is_past({'startedAt': '2026-01-02T12'})


def test_a_copy_on_a_full_volume_is_marked_until_there_is_room(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Journal(root)
    mark = f'{root}.copied'
    with open(mark, 'w', encoding='ascii'):
        pass
    with monkeypatch.context() as full:

        def refuse(*_: object) -> int:
            raise OSError(errno.ENOSPC, 'full')

        full.setattr(os, 'open', refuse)
        copy = Journal(root)
    assert copy.is_past(SPEC)
    assert os.path.exists(mark)


def test_times_are_iso_8601_in_utc() -> None:
    assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', journal.timestamp())


@pytest.mark.parametrize(
    ('text', 'limit', 'head', 'tail', 'left_out'),
    [
        ('short', 10, 'short', '', 0),
        ('', 10, '', '', 0),
        ('0123456789', 10, '0123456789', '', 0),
        ('0123456789a', 10, '01234', '6789a', 1),
        # Characters of two, three and four bytes are kept whole on both sides.
        ('ääääää', 6, 'ä', 'ä', 8),
        ('ab€€cd', 8, 'ab', 'cd', 6),
        ('a😀😀😀b', 10, 'a😀', '😀b', 4),
        ('\0' * 3, 10, '\ufffd' * 3, '', 0),
    ],
)
def test_a_preview_is_cut_between_characters(tmp_path: Path, text: str, limit: int, head: str, tail: str, left_out: int) -> None:
    file = tmp_path / 'stdout'
    data = text.encode()
    file.write_bytes(data)
    fd = os.open(file, os.O_RDONLY)
    assert preview(fd, len(data), len(data), limit, 'p') == {'head': head, 'tail': tail, 'leftOut': left_out, 'path': 'p'}
    os.close(fd)


def test_a_preview_counts_what_was_never_kept(tmp_path: Path) -> None:
    assert preview(-1, 0, 1000, 10, 'p') == {'head': '', 'tail': '', 'leftOut': 1000, 'path': 'p'}


def full(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_volume_takes_no_descriptors_however_often_it_is_tried_again(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Journal(root)
    kept.claim('one')
    before = os.listdir('/proc/self/fd')
    with monkeypatch.context() as patch:
        patch.setattr(os, 'write', full)
        for _ in range(3):
            with pytest.raises(OSError, match='No space left'):
                kept.create_exit('one')
    assert os.listdir('/proc/self/fd') == before


def test_outputs_that_do_not_fit_take_no_descriptors(root: str) -> None:
    kept = Journal(root)
    claim = kept.claim('one')
    assert claim is not None
    before = os.listdir('/proc/self/fd')
    with open(kept.path('one', 'stderr'), 'wb'), pytest.raises(FileExistsError):
        claim.keep(SPEC)
    assert os.listdir('/proc/self/fd') == before


@pytest.mark.parametrize('prepared', [False, True])
def test_files_that_were_made_ahead_are_those_of_the_next_exec(root: str, prepared: bool) -> None:
    kept = Journal(root)
    if prepared:
        kept.prepare()
        kept.prepare()
        assert kept.ids() == []
    exit_file = begin(kept, 'one', b'said')
    assert not os.path.exists(f'{root}.spare')
    assert kept.read_spec('one') == SPEC
    assert kept.read_exit('one') is None
    assert kept.sizes('one') == [4, 0]
    assert kept.write_exit(exit_file, {'status': 'exited', 'exitCode': 0})
    assert kept.read_exit('one') == {'status': 'exited', 'exitCode': 0}
    modes = {name: os.stat(kept.path('one', name)).st_mode & 0o777 for name in os.listdir(f'{root}/one')}
    assert modes == {'spec.json': 0o600, 'stdout': 0o644, 'stderr': 0o644, 'exit.json': 0o644}


def test_an_exec_whose_files_were_never_made_is_claimed_all_the_same(root: str) -> None:
    kept = Journal(root)
    os.mkdir(f'{root}/one')
    kept.prepare()
    assert kept.claim('one') is None


def test_a_supervisor_that_died_after_its_claim_leaves_a_lost_exec(root: str) -> None:
    died = Journal(root)
    died.prepare()
    claim = died.claim('one')
    assert claim is not None
    claim.close()
    kept = Journal(root)
    assert (kept.ids(), kept.read_spec('one'), kept.read_exit('one')) == (['one'], None, None)
    kept.remove('one')
    assert kept.ids() == []


def test_files_that_an_earlier_supervisor_has_made_are_replaced(root: str) -> None:
    before = os.listdir('/proc/self/fd')
    earlier = Journal(root)
    earlier.prepare()
    claim = earlier.claim('one')
    assert claim is not None
    claim.close()
    earlier.prepare()
    with open(f'{root}.spare/stdout', 'wb') as file:
        file.write(b'not empty')
    later = Journal(root)
    later.prepare()
    os.close(begin(later, 'two'))
    assert later.sizes('two') == [0, 0]
    assert len(os.listdir('/proc/self/fd')) == len(before) + 4


def test_a_full_volume_is_tried_again_by_the_next_exec(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Journal(root)
    before = os.listdir('/proc/self/fd')
    with monkeypatch.context() as patch:
        patch.setattr(os, 'write', full)
        kept.prepare()
    assert os.listdir('/proc/self/fd') == before
    os.close(begin(kept, 'one'))
    assert kept.read_spec('one') == SPEC


def test_the_end_of_an_exec_is_recorded_on_a_volume_that_has_no_room_for_its_spec(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Journal(root)
    kept.prepare()
    claim = kept.claim('one')
    assert claim is not None
    with monkeypatch.context() as patch:
        patch.setattr(os, 'write', full)
        outputs, exit_file = claim.keep(SPEC)
    for fd in outputs:
        os.close(fd)
    assert kept.write_exit(exit_file, {'status': 'exited', 'exitCode': 0})
    assert (kept.read_spec('one'), kept.read_exit('one')) == (None, {'status': 'exited', 'exitCode': 0})


def test_the_files_of_a_claim_are_closed_when_it_cannot_be_made(root: str) -> None:
    kept = Journal(root)
    before = os.listdir('/proc/self/fd')
    kept.prepare()
    shutil.rmtree(root)
    with pytest.raises(Refused, match='the journal cannot be written'):
        kept.claim('one')
    assert os.listdir('/proc/self/fd') == before
