"""Rules of the timers of a plugin that is written for Nekro Agent, and of what its tasks send."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from longshore_host.calls import current
from longshore_host.questions import QuestionFailed
from longshore_host.tasks import tasks
from longshore_nekro import context
from longshore_nekro.calling import MethodCall
from longshore_nekro.context import AgentCtx, Messages, MessageService
from longshore_nekro.refused import NotSupported
from longshore_nekro.timers import MOST, clear_timers, get_timers, set_temp_timer, set_timer

SOON = int(time.time()) + 600


def caller(*timers: dict[str, Any]) -> Any:
    known = {'chat_key': 'conv_1', 'user_id': 'user-1', 'agent_id': 'sailor', 'files': {}, 'directory': '/home/user/files/call_1', 'place': '/tmp/call'}
    return {**known, 'timers': list(timers)}


def known(name: str, due: int = SOON, temporary: bool = False) -> dict[str, Any]:
    return {'id': name, 'due': due, 'text': name, 'temporary': temporary}


def during(call: MethodCall | None, work: Any) -> Any:
    async def within() -> Any:
        current.set(call)
        return await work

    return asyncio.run(within())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a worker is asked; it answers with an empty list."""
    given: list[Any] = []

    async def ask(*question: Any) -> Any:
        given.append(question)
        return []

    monkeypatch.setattr(tasks, 'ask', ask)
    return given


def test_what_a_call_changes_is_part_of_its_answer_and_can_be_read_at_once() -> None:
    call = MethodCall(caller(known('kept', SOON + 1), known('nap', SOON + 2, temporary=True)))

    async def work() -> list[tuple[int, str, bool]]:
        assert await set_timer('conv_1', SOON, 'high tide') is True
        assert await set_temp_timer('', SOON + 3, 'look again') is True
        return [(timer.trigger_time, timer.event_desc, timer.temporary) for timer in await get_timers('conv_1')]

    assert during(call, work()) == [(SOON, 'high tide', False), (SOON + 1, 'kept', False), (SOON + 3, 'look again', True)]
    assert call.answer()['timers'] == [
        {'set': {'id': '+0', 'due': SOON, 'text': 'high tide', 'temporary': False}},
        {'set': {'id': '+1', 'due': SOON + 3, 'text': 'look again', 'temporary': True}},
    ]


def test_timers_are_cleared_by_their_ids_those_of_the_call_too() -> None:
    call = MethodCall(caller(known('kept'), known('nap', temporary=True)))

    async def work() -> None:
        await set_timer('conv_1', SOON, 'one')
        await clear_timers('conv_1', temporary=True)
        assert [timer.event_desc for timer in await get_timers('conv_1')] == ['kept', 'one']
        assert await set_timer('conv_1', -1, '') is True
        assert await get_timers('conv_1') == []
        await clear_timers('conv_1')

    during(call, work())
    assert call.answer()['timers'][1:] == [{'clear': ['nap']}, {'clear': ['kept', '+0']}]


@pytest.mark.parametrize(('due', 'is_set'), [(int(time.time()) - 1, False), (SOON + 11 * 365 * 86_400, False), (1, False), (0, True)])
def test_a_time_that_has_passed_or_is_far_away_sets_nothing_and_zero_is_now(due: int, is_set: bool) -> None:
    call = MethodCall(caller())
    assert during(call, set_timer('conv_1', due, 'one')) is is_set
    assert [abs(change['set']['due'] - time.time()) < 60 for change in call.answer()['timers']] == ([True] if is_set else [])


def test_odd_timers_and_too_many_are_refused() -> None:
    call = MethodCall(caller(*[known(f't{index}') for index in range(MOST)]))
    with pytest.raises(ValueError, match=r'^100 timers of this plugin wait in this conversation, which is the limit; clear some$'):
        during(call, set_timer('conv_1', SOON, 'one'))
    with pytest.raises(ValueError, match=r'^event_desc has 4001 characters; at most 4000 are allowed$'):
        during(call, set_timer('conv_1', SOON, 'a' * 4001))
    with pytest.raises(TypeError, match=r'^trigger_time is a whole number of seconds since 1970, not a str$'):
        during(call, set_timer('conv_1', '20270101', 'one'))  # type: ignore[arg-type]
    with pytest.raises(NotSupported, match=r'^set_timer: the conversation "conv_2" is not the one of this call, which is "conv_1"$'):
        during(call, set_timer('conv_2', SOON, 'one'))
    assert call.answer()['timers'] == []


def test_where_a_plugin_says_what_it_adds_to_a_step_it_can_only_read_them() -> None:
    call = MethodCall(caller(known('kept')))
    call.only_tells = True
    assert [timer.task_id for timer in during(call, get_timers('conv_1'))] == ['kept']
    for changing, name in ((set_timer('conv_1', SOON, 'one'), 'set_timer'), (clear_timers('conv_1'), 'clear_timers')):
        with pytest.raises(NotSupported, match=rf'^{name} works in methods, commands and tasks, and not where a plugin says what it adds to a step$'):
            during(call, changing)


@pytest.mark.parametrize('call', [None, MethodCall(caller())])
def test_a_task_asks_a_worker_also_when_a_call_has_started_it(asked: list[Any], call: MethodCall | None) -> None:
    if call is not None:
        call.over = True

    async def work() -> None:
        await Messages.send_text('conv_1', 'one')
        await AgentCtx(caller()).send_text('two')
        await MessageService.push_system_message('conv_2', 'three', trigger_agent=True)
        assert await set_temp_timer('conv_2', SOON, 'four') is True
        assert await get_timers('conv_2') == []
        assert await clear_timers('conv_2', temporary=False) is True
        assert await clear_timers('conv_2') is True

    during(call, work())
    assert asked == [
        ('send', 'conv_1', {'type': 'text', 'text': 'one'}),
        ('send', 'conv_1', {'type': 'text', 'text': 'two'}),
        ('note', 'conv_2', {'text': 'three', 'wake': True}),
        ('set-timer', 'conv_2', {'due': SOON, 'text': 'four', 'temporary': True}),
        ('timers', 'conv_2'),
        ('clear-timers', 'conv_2', {'temporary': False}),
        ('clear-timers', 'conv_2', {}),
    ]
    if call is not None:
        assert (call.sent, call.notes, call.timer_changes) == ([], [], [])


def test_a_file_of_a_task_is_kept_until_the_worker_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(context, '_of_tasks', lambda: tmp_path / 'tasks')
    local = tmp_path / 'a.txt'
    local.write_text('one')
    seen: list[Any] = []

    async def ask(what: str, chat_key: str, part: dict[str, Any]) -> None:
        seen.append((what, chat_key, part['type'], part['name'], Path(part['path']).read_text()))
        raise QuestionFailed('the conversation is closed')

    monkeypatch.setattr(tasks, 'ask', ask)
    with pytest.raises(QuestionFailed, match=r'^the conversation is closed$'):
        during(None, Messages.send_file('conv_1', local))
    assert seen == [('send', 'conv_1', 'file', 'a.txt', 'one')]
    assert list((tmp_path / 'tasks').iterdir()) == []


def test_a_task_has_to_name_the_conversation() -> None:
    with pytest.raises(NotSupported, match=r'^send_text needs the chat_key of a conversation outside of a call$'):
        during(None, Messages.send_text('', 'one'))
