"""Rules of what a plugin that is written for MaiBot asks of the conversation that has called it."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import TYPE_CHECKING, Any

import pytest

from longshore_host import model, questions
from longshore_host.calls import Call, current
from longshore_host.tasks import tasks
from longshore_maibot import messages, models
from longshore_maibot.refused import CapabilityRefused

if TYPE_CHECKING:
    from pathlib import Path

SAID = [
    {'id': '1', 'by': 'user', 'text': 'Is it high?', 'at': '2027-01-31T10:00:00.500Z'},
    {'id': '4', 'by': 'agent', 'text': 'At noon.', 'at': '2027-01-31T10:00:02.000Z'},
    {'id': '9', 'by': 'user', 'text': 'And low?', 'at': '2027-01-31T11:00:00.000Z'},
]
REPLY = {
    'text': 'High.',
    'reasoning': '',
    'calls': [{'id': 'call_1', 'name': 'tide', 'arguments': {'harbour': 'north'}}],
    'usage': {'inputTokens': 3, 'outputTokens': 2},
    'model': 'a/b',
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The questions that reach the host, which answers all of them."""
    found: list[tuple[Any, ...]] = []

    async def answer(*question: Any) -> Any:
        found.append(question)
        return {'model': REPLY, 'model-name': 'a/b', 'messages': SAID}[question[0]]

    for module in (messages, model):
        monkeypatch.setattr(module, 'ask', answer)
    monkeypatch.setattr(model, 'has_channel', lambda: True)
    return found


def during(answering: Any, **args: Any) -> Any:
    async def within() -> Any:
        current.set(Call('conv_1', 'user-1'))
        return await answering(args)

    return asyncio.run(within())


def test_a_prompt_is_a_text_or_messages(asked: list[tuple[Any, ...]]) -> None:
    reply = during(models.generate, prompt='The tide?', max_tokens=50, temperature=0.1)
    assert (reply['success'], reply['response'], reply['model'], reply['total_tokens']) == (True, 'High.', 'a/b', 5)
    prompt = [
        {'role': 'system', 'content': 'Be brief.'},
        {'role': 'assistant', 'content': None, 'tool_calls': [{'id': 'c'}]},
        {'role': 'tool', 'tool_call_id': 'c', 'content': [{'type': 'text', 'text': '2 m'}]},
    ]
    tool = {'type': 'function', 'function': {'name': 'tide', 'description': 'The tide'}}
    reply = during(models.generate_with_tools, prompt=prompt, tools=[tool])
    assert reply['tool_calls'] == [{'id': 'call_1', 'type': 'function', 'function': {'name': 'tide', 'arguments': {'harbour': 'north'}}}]
    assert asked == [
        ('model', {'messages': [{'role': 'user', 'text': 'The tide?'}], 'tools': [], 'maxOutputTokens': 50}),
        (
            'model',
            {
                'messages': [
                    {'role': 'system', 'text': 'Be brief.'},
                    {'role': 'assistant', 'text': 'Calls: [{"id": "c"}]'},
                    {'role': 'user', 'text': 'Result of c: 2 m'},
                ],
                'tools': [{'name': 'tide', 'description': 'The tide', 'parameters': {'type': 'object', 'properties': {}}}],
            },
        ),
    ]


@pytest.mark.parametrize('prompt', [None, '', [], ['text'], [{'content': [{'type': 'image_url'}]}]])
def test_what_is_no_prompt_is_refused(asked: list[tuple[Any, ...]], prompt: Any) -> None:
    with pytest.raises(CapabilityRefused, match=r'^llm: '):
        during(models.generate, prompt=prompt)
    assert asked == []


def test_a_model_that_cannot_be_asked_is_an_answer_without_success() -> None:
    reply = during(models.generate, prompt='The tide?')
    assert (reply['success'], reply['response']) == (False, '')
    assert reply['error'] == 'there is no worker here'


def test_messages_are_those_of_the_conversation(asked: list[tuple[Any, ...]]) -> None:
    def ids(answering: Any, **args: Any) -> list[str]:
        return [message['message_id'] for message in during(answering, **args)['messages']]

    assert ids(messages.recent, chat_id='conv_1', limit=2) == ['4', '9']
    assert ids(messages.recent, chat_id='conv_1', filter_mai=True) == ['1', '9']
    assert ids(messages.by_time, chat_id='conv_1', start_time='2027-01-31T10:00:01Z', end_time='1801391401') == ['4']
    assert during(messages.by_id, message_id='4')['message']['processed_plain_text'] == 'At noon.'
    assert during(messages.by_id, message_id='5')['message'] is None
    assert during(messages.count_new, chat_id='conv_1', since='1801389601')['count'] == 2
    assert during(messages.readable)['text'] == 'user-1: Is it high?\nagent: At noon.\nuser-1: And low?'


def test_no_other_conversation_is_seen(asked: list[tuple[Any, ...]]) -> None:
    with pytest.raises(CapabilityRefused, match=r'^the chat conv_2 is not the one of this call$'):
        during(messages.recent, chat_id='conv_2')
    assert during(messages.stream_of_user, user_id='user-1')['stream']['stream_id'] == 'conv_1'
    assert during(messages.stream_of_user, user_id='user-2')['stream'] is None
    with pytest.raises(CapabilityRefused, match=r'^a plugin can see a conversation only during a call of one of its tools$'):
        asyncio.run(messages.recent({}))
    assert asked == []


def test_a_question_goes_through_the_channel_of_its_request(tmp_path: Path) -> None:
    received: list[Any] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = struct.unpack('>I', await reader.readexactly(4))[0]
        received.append(json.loads(await reader.readexactly(size)))
        number = len(received)
        answer = json.dumps({'ok': number} if number == 1 else {'error': {'code': 'TOOL_FAILED', 'message': 'the budget is used up'}}).encode()
        writer.write(struct.pack('>I', len(answer)) + answer if number < 3 else b'')
        writer.close()

    async def run() -> None:
        path = str(tmp_path / 'socket')
        async with await asyncio.start_unix_server(serve, path):
            channel = questions.take_channel({'_meta': {'longshore/channel': {'path': path, 'token': 'secret'}}})
            assert await questions.ask('model', {'a': 1}) == 1
            for problem in ('the budget is used up', 'the connection to the host was closed'):
                with pytest.raises(questions.QuestionFailed, match=f'^{problem}$'):
                    await questions.ask('model-name')
            with pytest.raises(questions.QuestionFailed, match=r'^a question of 10001\d\d bytes; at most 1000000 are allowed$'):
                await questions.ask('x' * 1_000_000)
            # Tasks that the request has started see that it is over.
            task = asyncio.ensure_future(questions.ask('model-name'))
            channel.close()
            with pytest.raises(questions.QuestionFailed, match=r'^this can be asked only during a call of a tool, or in a hook that is waited for$'):
                await task

    asyncio.run(run())
    assert [(each['token'], each['tool'], each['arguments']) for each in received] == [
        ('secret', 'longshore:context', {'what': 'model', 'args': [{'a': 1}]}),
        *[('secret', 'longshore:context', {'what': 'model-name', 'args': []})] * 2,
    ]


@pytest.fixture
def asked_by_tasks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []

    async def answer(*question: Any) -> Any:
        found.append(question)
        return {'model': REPLY, 'model-name': 'a/b'}[question[0]]

    monkeypatch.setattr(tasks, 'ask', answer)
    return found


def after(conversation_id: str | None, answering: Any, **args: Any) -> Any:
    """In a task that a call has started, and that has outlived it; or in one that no call has started."""

    async def within() -> Any:
        if conversation_id is not None:
            call = Call(conversation_id, 'user-1')
            call.over = True
            current.set(call)
        return await answering(args)

    return asyncio.run(within())


def test_a_task_asks_for_the_conversation_that_it_names_or_whose_call_has_started_it(asked_by_tasks: list[tuple[Any, ...]]) -> None:
    question = {'messages': [{'role': 'user', 'text': 'The tide?'}], 'tools': []}
    assert after('conv_1', models.generate, prompt='The tide?')['response'] == 'High.'
    assert after('conv_1', models.generate, prompt='The tide?', stream_id='conv_2')['response'] == 'High.'
    assert after(None, models.available_models, chat_id='conv_3')['models'][-1] == 'a/b'
    assert asked_by_tasks == [('model', 'conv_1', question), ('model', 'conv_2', question), ('model-name', 'conv_3')]


def test_a_task_that_knows_no_conversation_is_told_how_to_name_one(asked_by_tasks: list[tuple[Any, ...]]) -> None:
    reply = after(None, models.generate, prompt='The tide?')
    reason = 'the model is asked for a conversation, whose budget counts it, and none is known here: outside of a call, name it with stream_id='
    assert (reply['success'], reply['error']) == (False, reason)
    assert asked_by_tasks == []


def test_a_call_asks_for_no_other_conversation(asked: list[tuple[Any, ...]]) -> None:
    assert during(models.generate, prompt='The tide?', stream_id='conv_1')['success']
    reply = during(models.generate, prompt='The tide?', stream_id='conv_2')
    assert (reply['success'], reply['error']) == (False, 'the conversation conv_2 is not the one of this call')
    assert len(asked) == 1
