from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from root.execs import memory
from root.execs.memory import MemoryKills

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 'low 0\nhigh 0\nmax 12\noom 5\noom_kill 3\noom_group_kill 9\n'
FIRST = 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n'


@pytest.mark.parametrize(('text', 'count'), [(SECOND, 3), (FIRST, 2), ('', 0), ('oom_kill_disable 1\n', 0)])
def test_kills_are_counted_in_both_generations_of_control_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, count: int) -> None:
    file = tmp_path / 'events'
    file.write_text(text)
    monkeypatch.setattr(memory, '_FILES', (str(tmp_path / 'missing'), str(file)))
    assert MemoryKills().count() == count


def test_the_count_is_read_anew_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / 'events'
    file.write_text('oom_kill 0\n')
    monkeypatch.setattr(memory, '_FILES', (str(file),))
    kills = MemoryKills()
    assert kills.count() == 0
    file.write_text('oom_kill 1\n')
    assert kills.count() == 1


def test_nothing_is_counted_where_there_are_no_control_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, '_FILES', (str(tmp_path / 'missing'),))
    assert MemoryKills().count() == 0
