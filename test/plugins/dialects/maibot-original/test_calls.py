"""Rules of calls of the tools of a plugin that is written for MaiBot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from longshore_host.questions import QuestionFailed
from longshore_host.tasks import tasks
from longshore_maibot import events
from longshore_maibot.loaded_plugin import LoadedPlugin

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CALLER = {'stream_id': 'conv_1', 'chat_id': 'conv_1', 'group_id': '', 'user_id': 'user-1', 'platform': 'longshore'}


class Plugin:
    def __init__(self) -> None:
        self.changed: list[Any] = []

    async def look(self, user_id: str, **given: Any) -> Any:
        return user_id, given['stream_id'], given['place']

    async def measure(self) -> Any:
        return {'id': 1234567890123456789, 'height': float('nan'), 'kinds': {1}}

    async def pieces(self) -> Any:
        yield 'high'

    async def counts(self) -> Any:
        return {'levels': (level for level in (1, 2))}

    async def invoke_component(self, _name: str, **given: Any) -> Any:
        return given['user_id']

    async def on_config_update(self, scope: str, data: Any, _version: str) -> None:
        self.changed.append((scope, data))
        await cancelled_by_itself()

    def set_plugin_config(self, config: Any) -> None:
        self.config = config

    def get_default_config(self) -> dict[str, Any]:
        return {}

    def get_plugin_config_data(self) -> Any:
        return self.config

    def get_components(self) -> list[dict[str, Any]]:
        return []

    def get_config_reload_subscriptions(self) -> list[str]:
        return ['bot']


async def cancelled_by_itself(**_: Any) -> None:
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


def loaded() -> LoadedPlugin:
    plugin = LoadedPlugin('harbour.tides', '.', {})
    plugin._plugin = Plugin()
    plugin._components = [{'type': 'TOOL', 'name': name, 'metadata': {'handler_name': name}} for name in ('look', 'measure', 'pieces', 'counts', 'absent')]
    return plugin


def called(name: str, **arguments: Any) -> dict[str, Any]:
    return asyncio.run(loaded().call(name, arguments, CALLER))


def test_the_model_cannot_say_for_whom_a_tool_is_called() -> None:
    forged = {'user_id': 'user-2', 'stream_id': 'conv_2'}
    assert called('look', place='north', **forged)['value'] == ['user-1', 'conv_1', 'north']
    assert called('absent', **forged)['value'] == 'user-1'


def test_what_json_does_not_have_becomes_a_text() -> None:
    assert called('measure')['value'] == {'id': '1234567890123456789', 'height': 'NaN', 'kinds': '{1}'}


def test_what_gives_its_values_one_by_one_is_refused() -> None:
    assert called('pieces')['failed'] == 'TypeError: it returned a async_generator, whose values are not read; return a list of them'
    assert called('counts')['failed'] == 'TypeError: it returned a generator, whose values are not read; return a list of them'


def test_handlers_of_settings_and_of_the_start_fail_alone_when_their_own_code_cancels_them() -> None:
    plugin = loaded()
    asyncio.run(plugin.configure({'bot': {'nickname': 'Mai'}}))
    assert [scope for scope, _ in plugin._plugin.changed] == ['self', 'bot']
    asyncio.run(events.tell([({'event_type': events.START, 'intercept_message': True}, cancelled_by_itself)], events.START))


def test_a_handler_of_the_start_that_is_waited_for_is_not_answered_before_the_plugin_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, '_mark', None)
    refused: list[str] = []
    greeted: list[asyncio.Task[Any]] = []

    async def greets(**_: Any) -> None:
        greeted.append(asyncio.ensure_future(tasks.ask('send', 'conv_1', {'type': 'text', 'text': 'later'})))
        try:
            await tasks.ask('send', 'conv_1', {'type': 'text', 'text': 'Hello'})
        except QuestionFailed as problem:
            refused.append(str(problem))

    async def load() -> None:
        tasks.begin(str(tmp_path / 'asks'))
        await events.tell([({'event_type': events.START, 'intercept_message': True}, greets)], events.START)
        tasks.end_loading()
        [question] = tasks.exchange({})['questions']
        tasks.exchange({question['id']: {'ok': 1}})
        assert await greeted[0] == 1

    asyncio.run(asyncio.wait_for(load(), 30))
    assert refused == ['the plugin is still being loaded; do this in a task that it starts (asyncio.create_task)']
