"""Rules of what a method of a plugin that is written for Nekro Agent gives back, whatever it returns or raises."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from longshore_nekro.context import AgentCtx, Messages
from longshore_nekro.loaded_plugin import LoadedPlugin
from longshore_nekro.methods import bound
from longshore_nekro.plugin import NekroPlugin, SandboxMethodType, environment

CALLER = {'chat_key': 'conv_1', 'user_id': 'user-1', 'agent_id': 'sailor', 'files': {}, 'directory': '', 'place': ''}


def called(method: Any, kind: SandboxMethodType = SandboxMethodType.TOOL, **arguments: Any) -> dict[str, Any]:
    environment.made.clear()
    plugin = NekroPlugin(name='Gate', module_name='gate', author='harbour')
    plugin.mount_sandbox_method(kind)(method)
    loaded = LoadedPlugin('gate', '.', {})
    loaded._plugin = plugin
    return asyncio.run(loaded.call(method.__name__, arguments, CALLER))


@pytest.mark.parametrize(
    ('value', 'why'),
    [
        (1234567890123456789, '1234567890123456789: it is beyond 9007199254740991, up to which whole numbers are kept exactly'),
        ({'ids': [-(2**53)]}, '-9007199254740992: it is beyond 9007199254740991, up to which whole numbers are kept exactly'),
        (float('nan'), 'NaN: JSON has no such number'),
    ],
)
def test_a_number_that_would_become_another_one_is_refused(value: Any, why: str) -> None:
    async def number(_ctx: AgentCtx) -> Any:
        return value

    assert called(number)['failed'] == f'ValueError: it returned {why}; return None or a text'


def test_a_method_that_is_cancelled_by_its_own_code_has_failed_and_what_it_has_sent_is_sent() -> None:
    async def waits(_ctx: AgentCtx) -> None:
        await Messages.send_text('conv_1', 'one', _ctx)
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    answer = called(waits)
    assert answer['failed'].startswith('CancelledError: it was cancelled by its own code')
    assert answer['sent'] == [{'type': 'text', 'text': 'one'}]


def test_arguments_without_names_keep_their_places() -> None:
    def add(ctx: AgentCtx, one: int = 1, two: int = 2, /, three: int = 3) -> Any:
        return (one, two, three)

    context = AgentCtx(CALLER)
    positional, named = bound(add, context, {'two': 20, 'three': 30})
    assert add(*positional, **named) == (1, 20, 30)
    positional, named = bound(add, context, {})
    assert add(*positional, **named) == (1, 2, 3)


def test_what_gives_its_values_one_by_one_is_refused() -> None:
    async def pieces(_ctx: AgentCtx) -> Any:
        yield 'high'

    refused = 'TypeError: it returned a async_generator, whose values are not read; return a list of them'
    assert called(pieces)['failed'] == refused
    assert called(pieces, SandboxMethodType.AGENT)['failed'] == refused
