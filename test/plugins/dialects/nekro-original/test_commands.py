"""Rules of the commands of a plugin that is written for Nekro Agent."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Annotated, Any, Callable

import pytest

from longshore_host.calls import current
from longshore_nekro.answering import answer_of
from longshore_nekro.calling import MethodCall
from longshore_nekro.command_types import Command, CommandGroup, CommandPermission
from longshore_nekro.commands import ArgumentsRefused, arguments_of, described
from longshore_nekro.parts import Arg, CmdCtl, CommandOutputSegment, CommandResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytest.importorskip('pydantic')


def given(func: Callable[..., Any], text: str) -> dict[str, Any]:
    return arguments_of(Command('tide', func, usage='tide <harbour>'), text)


async def tide(context: Any, harbour: str, days: int = 1) -> CommandResponse:
    return CmdCtl.success(f'{harbour} {days}')


async def say(context: Any, to: str, words: Annotated[str, Arg('What', positional=True, greedy=True)] = '') -> None: ...


KIND: Any = Arg('Kind', default='high', choices=['high', 'low'])
HOUR: Any = Arg('Hour', range=(0, 23), default=0)


async def choose(context: Any, kind: str = KIND, hour: int = HOUR) -> None: ...


@pytest.mark.parametrize(
    ('func', 'text', 'arguments'),
    [
        (tide, '/tide north', {'harbour': 'north', 'days': 1}),
        (tide, '/tide "north pier" 2', {'harbour': 'north pier', 'days': 2}),
        (tide, r'/tide days:3 harbour:"the \"old\" pier"', {'harbour': 'the "old" pier', 'days': 3}),
        (tide, '/tide http://harbour.test', {'harbour': 'http://harbour.test', 'days': 1}),
        (say, '/tide Ada Is it  "high"?', {'to': 'Ada', 'words': 'Is it  "high"?'}),
        (say, '/tide Ada', {'to': 'Ada', 'words': ''}),
        (choose, '/tide', {'kind': 'high', 'hour': 0}),
        (choose, '/tide low 7', {'kind': 'low', 'hour': 7}),
    ],
)
def test_arguments_are_words_names_with_values_or_the_rest(func: Callable[..., Any], text: str, arguments: dict[str, Any]) -> None:
    assert given(func, text) == arguments


@pytest.mark.parametrize(
    ('func', 'text', 'problem'),
    [
        (tide, '/tide', 'harbour is missing. Usage: /tide <harbour>'),
        (tide, '/tide north soon', "days cannot be 'soon': "),
        (choose, '/tide none', "kind cannot be 'none'; known are high, low"),
        (choose, '/tide low 24', "hour cannot be '24'; it is between 0 and 23"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(func: Callable[..., Any], text: str, problem: str) -> None:
    with pytest.raises(ArgumentsRefused, match=f'^{re.escape(problem)}'):
        given(func, text)


def test_the_pattern_is_the_name_with_a_slash_also_of_the_plugin_or_an_alias() -> None:
    pattern = described(Command('na-tide', tide, aliases=['潮汐', 'a.b']), 'harbour')['pattern']
    for text in ('/na-tide', '/na-tide north', '/harbour:na-tide', '/潮汐 north', '/a.b\nnorth'):
        assert re.search(pattern, text), text
    for text in ('na-tide', '/na-tides', 'say /na-tide', '/axb', '/other:na-tide'):
        assert not re.search(pattern, text), text


def test_commands_for_administrators_are_for_operators() -> None:
    commands: list[Command] = []
    group = CommandGroup('sum', commands, CommandPermission.ADVANCED)
    group.command('add', 'Adds')(tide)
    group.command('show', permission=CommandPermission.PUBLIC)(tide)
    assert [(described(command, 'a')['name'], described(command, 'a')['forOperators']) for command in commands] == [('sum.add', True), ('sum.show', False)]
    assert not described(Command('tide', tide), 'a')['forOperators']


def answer(func: Callable[..., Any], text: str) -> tuple[Any, list[dict[str, Any]]]:
    caller: Any = {'chat_key': 'conv_1', 'user_id': 'user-1', 'agent_id': 'sailor', 'files': {}, 'directory': '/x', 'place': '/nowhere'}
    call = MethodCall(caller)

    async def within() -> Any:
        current.set(call)
        return await answer_of(Command('tide', func), text, call)

    return asyncio.run(within()), call.sent


def test_the_answer_is_what_the_command_says() -> None:
    async def fail(context: Any) -> CommandResponse:
        return CmdCtl.failed({'zh_CN': '不', 'en_US': 'No.'})

    async def twice(context: Any) -> AsyncIterator[CommandResponse]:
        yield CmdCtl.message('One.')
        yield CmdCtl.wait('Two?', 'next', options=['yes', 'no'])

    def parts(context: Any) -> CommandResponse:
        return CmdCtl.success([CommandOutputSegment(text='High'), CommandOutputSegment(text=f'at {context.chat_key}')])

    assert answer(tide, '/tide north')[0] == (True, 'north 1')
    assert answer(fail, '/tide')[0] == (False, 'No.')
    assert answer(twice, '/tide')[0] == (True, 'One.\nTwo?\nyes / no')
    assert answer(parts, '/tide')[0] == (True, 'High\nat conv_1')
    assert answer(tide, '/tide')[0] == (False, 'harbour is missing. Usage: /tide')
