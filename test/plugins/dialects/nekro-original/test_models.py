"""Rules of what a plugin that is written for Nekro Agent asks the model."""

from __future__ import annotations

import asyncio
import base64
import re
from typing import TYPE_CHECKING, Any

import pytest

from longshore_host import model
from longshore_host.calls import Call, current
from longshore_host.prompts import PromptRefused
from longshore_host.questions import QuestionFailed
from longshore_host.tasks import tasks
from longshore_nekro.models import ContentSegment, OpenAIChatMessage, gen_openai_chat_response
from longshore_nekro.parts import Settings
from longshore_nekro.refused import NotSupported

if TYPE_CHECKING:
    from pathlib import Path

PNG = b'\x89PNG\r\n\x1a\n'
REPLY = {'text': 'High.', 'reasoning': 'Moon.', 'calls': [], 'usage': {'inputTokens': 3, 'outputTokens': 2}, 'model': 'a/b'}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The questions that reach the host."""
    found: list[tuple[Any, ...]] = []

    async def answer(*question: Any) -> Any:
        found.append(question)
        return REPLY

    monkeypatch.setattr(model, 'ask', answer)
    monkeypatch.setattr(model, 'has_channel', lambda: True)
    return found


def ask_during_a_call(*args: Any, **options: Any) -> Any:
    async def within() -> Any:
        current.set(Call('conv_1'))
        return await gen_openai_chat_response(*args, **options)

    return asyncio.run(within())


def test_the_group_of_the_agent_is_asked_with_messages_of_both_kinds(asked: list[tuple[Any, ...]]) -> None:
    group = Settings().get_model_group_info('default')
    message = OpenAIChatMessage.create_empty('user').add(ContentSegment.text_content('The tide')).batch_add([ContentSegment.text_content('at noon?')])
    messages = [{'role': 'system', 'content': 'Be brief.'}, message]
    given = {'base_url': group.BASE_URL, 'api_key': group.API_KEY, 'stream_mode': True, 'max_tokens': 50, 'temperature': 2}
    reply = ask_during_a_call(model=group.CHAT_MODEL, messages=messages, **given)
    assert (reply.response_content, reply.thought_chain, reply.use_model, reply.token_consumption, reply.message_cnt) == ('High.', 'Moon.', 'a/b', 5, 2)
    texts = [{'role': 'system', 'text': 'Be brief.'}, {'role': 'user', 'text': 'The tide\nat noon?'}]
    assert asked == [('model', {'messages': texts, 'tools': [], 'maxOutputTokens': 50})]


def test_images_are_shown_to_the_model(asked: list[tuple[Any, ...]], tmp_path: Path) -> None:
    path = tmp_path / 'a.png'
    path.write_bytes(PNG)
    data = base64.b64encode(PNG).decode()
    message = OpenAIChatMessage.from_text('user', 'What is it?').batch_add(
        [ContentSegment.image_content_from_bytes(PNG, 'png'), ContentSegment.image_content(f'data:image/png;base64,{data}')]
    )
    ask_during_a_call('agent', [message])
    image = {'mediaType': 'image/png', 'data': data}
    assert asked[0][1]['messages'] == [{'role': 'user', 'text': 'What is it?', 'images': [image, image]}]


@pytest.mark.parametrize(
    ('url', 'problem'),
    [
        ('https://pictures.example/1', 'an image is given as a data URL; download it first'),
        ('data:image/png;base64,?', 'an image has to be base64'),
        ('data:image/png;base64,AAAA', 'this is no image; PNG, JPEG, GIF and WebP can be shown'),
    ],
)
def test_what_is_no_image_is_refused(asked: list[tuple[Any, ...]], url: str, problem: str) -> None:
    with pytest.raises(PromptRefused, match=f'^{problem}$'):
        ask_during_a_call('agent', [{'role': 'user', 'content': [ContentSegment.image_content(url)]}])
    with pytest.raises(PromptRefused, match=r'^9 images; at most 8 are allowed in a message$'):
        ask_during_a_call('agent', [{'role': 'user', 'content': [ContentSegment.image_content(url)] * 9}])
    assert asked == []


def test_another_group_and_another_address_are_refused(asked: list[tuple[Any, ...]]) -> None:
    with pytest.raises(KeyError, match=re.escape("give the setting of the plugin the value 'default', which is the model of the agent")):
        Settings().get_model_group_info('openai')
    assert 'openai' not in Settings().MODEL_GROUPS
    for options in ({'model': 'agent', 'base_url': 'https://models.example'}, {'model': 'gpt-9'}):
        with pytest.raises(NotSupported, match=r'use the package openai, with a permission for the host$'):
            ask_during_a_call(messages=[], **options)
    with pytest.raises(PromptRefused, match=r'^parts of the type input_audio are not supported; text and image_url are$'):
        ask_during_a_call('agent', [{'role': 'user', 'content': [{'type': 'input_audio'}]}])
    assert asked == []


def test_an_answer_that_does_not_come_is_an_error_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> Any:
        raise QuestionFailed('the budget of cost of the conversation is used up')

    monkeypatch.setattr(model, 'ask', fail)
    monkeypatch.setattr(model, 'has_channel', lambda: True)
    with pytest.raises(QuestionFailed, match=r'^the budget of cost of the conversation is used up$'):
        ask_during_a_call('agent', [OpenAIChatMessage.from_text('user', 'The tide?')])


def test_outside_of_a_call_the_conversation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    async def answer(*question: Any) -> Any:
        asked.append(question)
        return REPLY

    monkeypatch.setattr(tasks, 'ask', answer)
    message = OpenAIChatMessage.from_text('user', 'The tide?')
    reply = asyncio.run(gen_openai_chat_response('agent', [message], chat_key='conv_2'))
    assert reply.response_content == 'High.'
    assert asked == [('model', 'conv_2', {'messages': [{'role': 'user', 'text': 'The tide?'}], 'tools': []})]
    reason = 'the model is asked for a conversation, whose budget counts it, and none is known here: outside of a call, name it with chat_key='
    with pytest.raises(QuestionFailed, match=f'^{reason}$'):
        asyncio.run(gen_openai_chat_response('agent', [message]))
