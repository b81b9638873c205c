"""Rules of what a plugin that is written for MaiBot may ask of its host."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import pytest

from longshore_host.calls import Call, current
from longshore_host.questions import QuestionFailed
from longshore_host.tasks import tasks
from longshore_maibot.capabilities import Capabilities
from longshore_maibot.refused import CapabilityRefused
from longshore_maibot.scan_source import scan

if TYPE_CHECKING:
    from pathlib import Path

PNG = base64.b64encode(b'\x89PNG\r\n').decode()


def ask(call: Call | None, capability: str, **args: Any) -> Any:
    async def within() -> Any:
        current.set(call)
        return await Capabilities('harbour.tides', {'bot': {'nickname': 'Mai'}}, lambda: {'units': 'metric'}).rpc_call(
            'cap.call', payload={'capability': capability, 'args': args}
        )

    return asyncio.run(within())


def test_what_is_sent_during_a_call_is_kept_in_its_order() -> None:
    call = Call('conv_1')
    assert ask(call, 'send.text', text='one', stream_id='conv_1') == {'success': True, 'sent': True}
    ask(call, 'send.image', image_base64=f'data:image/png;base64,{PNG}', stream_id='')
    ask(call, 'send.hybrid', segments=[{'type': 'text', 'content': 'two'}, {'type': 'image', 'content': PNG}], stream_id='conv_1')
    image = {'type': 'image', 'mediaType': 'image/png', 'data': PNG}
    assert call.sent == [{'type': 'text', 'text': 'one'}, image, {'type': 'text', 'text': 'two'}, image]


def test_a_call_sends_nothing_to_another_conversation() -> None:
    with pytest.raises(CapabilityRefused, match=r'^the stream conv_2 is not the one of this call$'):
        ask(Call('conv_1'), 'send.text', text='one', stream_id='conv_2')


def test_a_task_sends_to_any_conversation_that_it_names_and_one_of_a_call_to_that_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call('conv_1')
    call.over = True
    asked: list[Any] = []

    async def ask_worker(*question: Any) -> None:
        asked.append(question)
        if question[1] == 'conv_closed':
            raise QuestionFailed('the conversation "conv_closed" is closed')

    monkeypatch.setattr(tasks, 'ask', ask_worker)
    assert ask(call, 'send.text', text='one', stream_id='') == {'success': True, 'sent': True}
    ask(call, 'send.text', text='two', stream_id='conv_2')
    ask(None, 'send.hybrid', segments=[{'type': 'text', 'content': 'three'}, {'type': 'image', 'content': PNG}], stream_id='conv_2')
    one, two, three = ({'type': 'text', 'text': text} for text in ('one', 'two', 'three'))
    assert asked == [('send', 'conv_1', one), ('send', 'conv_2', two), ('send', 'conv_2', three, {'type': 'image', 'mediaType': 'image/png', 'data': PNG})]
    assert call.sent == []
    with pytest.raises(CapabilityRefused, match=r'^the conversation "conv_closed" is closed$'):
        ask(None, 'send.text', text='late', stream_id='conv_closed')
    with pytest.raises(CapabilityRefused, match=r'^stream_id has to name a conversation outside of a call$'):
        ask(None, 'send.text', text='late')


def test_what_cannot_be_a_part_of_a_text_is_sent_as_far_as_it_can_be_shown() -> None:
    call = Call('conv_1')
    ask(call, 'send.custom', message_type='voice', content='UklGRg==', stream_id='conv_1')
    ask(call, 'send.custom', custom_type='text', data='one')
    ask(call, 'send.forward', messages=[{'nickname': 'Ada', 'segments': [{'type': 'text', 'data': 'two'}]}, {'content': 'three'}])
    assert call.sent == [
        {'type': 'file', 'mediaType': 'audio/wav', 'name': 'voice.wav', 'data': 'UklGRg=='},
        {'type': 'text', 'text': 'one'},
        {'type': 'text', 'text': 'Ada: two'},
        {'type': 'text', 'text': 'three'},
    ]
    for kind, content, message in (
        ('music', '', 'parts of the type music are not supported; text, image and emoji are'),
        ('voice', '?', 'voice has to be base64'),
    ):
        with pytest.raises(CapabilityRefused, match=f'^send.custom: {message}$'):
            ask(call, 'send.custom', message_type=kind, content=content)


def test_settings_of_a_bot_are_those_that_an_operator_has_set() -> None:
    assert ask(None, 'config.get', key='bot.nickname', default='nobody')['value'] == 'Mai'
    assert ask(None, 'config.get', key='bot.nickname.first', default='nobody')['value'] == 'nobody'
    assert ask(None, 'config.get', key='personality')['value'] is None


def test_a_plugin_knows_itself_and_no_other() -> None:
    assert ask(None, 'config.get_plugin', plugin_name=None)['value'] == {'units': 'metric'}
    assert ask(None, 'component.list_loaded_plugins') == {'success': True, 'plugins': ['harbour.tides']}
    for what in ('config.get_plugin', 'component.get_plugin_info'):
        with pytest.raises(CapabilityRefused, match=f'^{what}: other is another plugin, of which this one sees nothing$'):
            ask(None, what, plugin_name='other')


@pytest.mark.parametrize('capability', ['llm.embed', 'database.get', 'send.command', 'component.enable', 'render.html2png', 'what.ever', ''])
def test_everything_else_is_refused_by_its_name(capability: str) -> None:
    with pytest.raises(CapabilityRefused, match=f'^{capability} is not supported in Longshore: '):
        ask(Call('conv_1'), capability)


def test_the_source_tells_what_it_asks_of_its_host(tmp_path: Path) -> None:
    (tmp_path / 'plugin.py').write_text(
        'from src.common import database\n'
        'async def run(self):\n'
        '    await self.ctx.send.text("a", "b")\n'
        '    await self.ctx.llm.embed("c")\n'
        '    await self.ctx.call_capability("message.get_by_id")\n'
        '    self.ctx.logger.info("d")\n'
    )
    (tmp_path / 'broken.py').write_text('def (')
    found = scan(str(tmp_path))
    assert [(each['name'], each['refusal'] is None) for each in found['capabilities']] == [
        ('llm.embed', False),
        ('message.get_by_id', True),
        ('send.text', True),
    ]
    assert found['foreign'] == ['src.common']
