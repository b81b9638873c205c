"""Rules of the handlers of hooks and events of a plugin that is written for MaiBot."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from longshore_host.calls import Call
from longshore_maibot import hooks

MESSAGE = {'id': '1', 'text': 'Is it high?', 'at': '2027-01-31T10:00:00.500Z', 'isCommand': False, 'hasImage': False}
ANSWER = {
    'id': 'step_1',
    'text': 'At noon.',
    'at': '2027-01-31T10:00:02.000Z',
    'calls': [{'id': '0', 'name': 'tide', 'arguments': {'harbour': 'north'}}, {'id': '1', 'name': 'moon', 'arguments': {}}],
    'usage': {'inputTokens': 3, 'outputTokens': 2},
}
PROMPT = {
    'instructions': 'Be brief.',
    'messages': [{'seq': 3, 'role': 'user', 'text': 'Is it high?'}, {'seq': 4, 'role': 'assistant', 'text': 'At noon.'}],
    'tools': [{'name': name, 'description': name, 'parameters': {'type': 'object'}} for name in ('tide', 'moon')],
}


def hook(of: str, handle: Any, **more: Any) -> tuple[str, dict[str, Any], Any]:
    return ('HOOK_HANDLER', {'hook': of, 'mode': 'blocking', **more}, handle)


def event(of: str, handle: Any, **more: Any) -> tuple[str, dict[str, Any], Any]:
    return ('EVENT_HANDLER', {'event_type': of, 'intercept_message': True, **more}, handle)


def run(point: str, value: dict[str, Any], *handlers: Any) -> dict[str, Any]:
    async def within() -> dict[str, Any]:
        answer = await hooks.run(point, list(handlers), value, {'stream_id': 'conv_1', 'user_id': 'user-1'}, Call('conv_1', 'user-1'))
        # What observes goes on after the answer.
        await asyncio.gather(*hooks._observing, return_exceptions=True)
        return answer

    return asyncio.run(within())


def returning(answer: Any) -> Any:
    async def handle(**given: Any) -> Any:
        return answer

    return handle


def test_each_handler_is_given_what_the_one_before_has_made_of_the_message() -> None:
    async def louder(message: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {'modified_kwargs': {'message': {**message, 'raw_message': [{'type': 'text', 'data': message['processed_plain_text'].upper()}]}}}

    def longer(plain_text: str, event_type: str) -> dict[str, Any]:
        return {'modified_message': f'{plain_text} ({event_type})'}

    answer = run('received', MESSAGE, hook('chat.receive.before_process', louder), event('on_message', longer))
    assert answer == {'value': {**MESSAGE, 'text': 'IS IT HIGH? (on_message)'}, 'stopped': False}


@pytest.mark.parametrize('answer', [{'action': 'abort'}, {'blocked': True}, {'continue_processing': False}])
def test_a_handler_that_stops_the_message_is_the_last_one(answer: dict[str, Any]) -> None:
    ran: list[str] = []
    stopped = run('received', MESSAGE, hook('chat.receive.before_process', returning(answer)), hook('chat.receive.after_process', lambda: ran.append('second')))
    assert (stopped['stopped'], ran) == (True, [])


def test_a_handler_that_observes_changes_nothing_and_is_not_waited_for() -> None:
    order: list[str] = []

    async def observe(message: dict[str, Any], **_: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        order.append('observed')
        message['raw_message'] = []
        return {'action': 'abort', 'modified_kwargs': {'message': 'not counted'}}

    handlers = [hook('chat.receive.before_process', observe, mode='observe'), hook('chat.receive.after_process', lambda **_: order.append('after'))]
    assert run('received', MESSAGE, *handlers) == {'value': MESSAGE, 'stopped': False}
    assert order == ['after', 'observed']


def test_nothing_waits_for_what_comes_after_a_message_was_sent() -> None:
    about = hooks.described('hook.after', 'HOOK_HANDLER', {'hook': 'send_service.after_send', 'mode': 'blocking'})
    assert (about['point'], about['order'][:2], hooks.is_blocking('HOOK_HANDLER', {'hook': 'send_service.after_send'})) == ('sent', [0, 1], False)


@pytest.mark.parametrize(('policy', 'stopped'), [('skip', False), ('log', False), ('abort', True)])
def test_what_a_failure_does_is_up_to_the_handler(policy: str, stopped: bool) -> None:
    def fail(**_: Any) -> None:
        raise SystemExit('broken')

    answer = run('received', MESSAGE, hook('chat.receive.before_process', fail, error_policy=policy))
    assert answer == {'value': MESSAGE, 'stopped': stopped}


def test_a_handler_has_a_time_limit() -> None:
    async def wait(**_: Any) -> None:
        await asyncio.Event().wait()

    assert run('received', MESSAGE, hook('chat.receive.before_process', wait, timeout_ms=10)) == {'value': MESSAGE, 'stopped': False}


def test_a_prompt_changes_in_its_texts_its_instructions_and_the_tools_that_are_shown() -> None:
    async def change(messages: list[dict[str, Any]], tool_definitions: list[dict[str, Any]], **_: Any) -> dict[str, Any]:
        messages[0]['content'] += ' Be kind.'
        messages[1]['content'] = [{'type': 'text', 'text': 'Is it low?'}]
        changed = [messages[0], messages[1], {'role': 'user', 'content': 'Hurry.'}]
        return {'modified_kwargs': {'messages': changed, 'tool_definitions': [*tool_definitions[1:], {'function': {'name': 'invented'}}]}}

    handlers = [
        hook('maisaka.planner.before_request', change),
        hook('maisaka.replyer.before_request', returning({'modified_kwargs': {'extra_prompt': 'Smile.'}})),
    ]
    value = run('asking', PROMPT, *handlers)['value']
    assert value['instructions'] == 'Be brief. Be kind.\n\nSmile.'
    assert value['messages'] == [{'role': 'user', 'text': 'Is it low?', 'seq': 3}, {'role': 'user', 'text': 'Hurry.', 'seq': None}]
    assert [tool['name'] for tool in value['tools']] == ['moon']


def test_a_prompt_cannot_be_stopped() -> None:
    assert run('asking', PROMPT, hook('maisaka.planner.before_request', returning({'action': 'abort'}))) == {'value': PROMPT, 'stopped': False}


def test_an_answer_changes_in_its_text_and_arguments_and_gets_no_other_calls() -> None:
    async def change(response: str, tool_calls: list[dict[str, Any]], total_tokens: int, **_: Any) -> dict[str, Any]:
        tool_calls[0]['function']['arguments']['harbour'] = 'south'
        invented = {'id': '9', 'function': {'name': 'other', 'arguments': {}}}
        return {'modified_kwargs': {'response': f'{response} ({total_tokens})', 'tool_calls': [tool_calls[0], invented]}}

    value = run('answered', ANSWER, hook('maisaka.planner.after_response', change))['value']
    assert (value['text'], value['calls']) == ('At noon. (5)', [{'id': '0', 'name': 'tide', 'arguments': {'harbour': 'south'}}])
    value = run('answered', ANSWER, event('after_llm', returning({'modified_message': {'llm_response_content': 'Never.'}})))['value']
    assert (value['text'], len(value['calls'])) == ('Never.', 2)


def test_a_message_that_is_sent_is_what_its_pieces_are() -> None:
    pieces = [{'type': 'reply', 'data': '1'}, {'type': 'voice', 'data': '[voice]', 'binary_data_base64': 'UklGRg=='}]
    sent = {key: MESSAGE[key] for key in ('id', 'text', 'at')}
    changed = run('sending', sent, hook('send_service.before_send', returning({'modified_kwargs': {'message': {'raw_message': pieces}}})))['value']
    assert (changed['text'], changed['parts']) == ('', [{'type': 'file', 'mediaType': 'audio/wav', 'name': 'voice.wav', 'data': 'UklGRg=='}])
    assert run('sending', sent, hook('send_service.before_send', returning({'modified_kwargs': {'message': {'processed_plain_text': 'x'}}})))['value'] == sent


@pytest.mark.parametrize('answer', [None, 'text', {'modified_kwargs': 'x'}, {'modified_kwargs': {'message': {'raw_message': [{'type': 'music'}]}}}])
def test_an_answer_that_means_nothing_changes_nothing(answer: Any) -> None:
    assert run('received', MESSAGE, hook('chat.receive.before_process', returning(answer))) == {'value': MESSAGE, 'stopped': False}


def test_the_order_of_handlers_is_that_of_hooks_then_modes_then_slots_and_weights() -> None:
    def order_of(kind: str, **about: Any) -> Any:
        return hooks.described('x', kind, about)['order']

    in_order = [
        order_of('HOOK_HANDLER', hook='chat.receive.before_process', mode='blocking', order='early'),
        order_of('HOOK_HANDLER', hook='chat.receive.before_process', mode='blocking', order='late'),
        order_of('HOOK_HANDLER', hook='chat.receive.before_process', mode='observe', order='early'),
        order_of('HOOK_HANDLER', hook='chat.receive.after_process', mode='blocking'),
        order_of('EVENT_HANDLER', event_type='on_message', intercept_message=True, weight=10),
        order_of('EVENT_HANDLER', event_type='on_message', intercept_message=True),
        order_of('EVENT_HANDLER', event_type='on_message', weight=100),
    ]
    assert in_order == sorted(in_order)


@pytest.mark.parametrize(
    ('about', 'refusal'),
    [
        ({'hook': 'emoji.maisaka.before_select'}, 'it belongs to a bot of MaiBot, and there is none'),
        ({'hook': 'chat.command.before_execute'}, 'the rules of approval of an agent say which commands run'),
        ({'event_type': 'on_plan'}, 'use the hook maisaka.planner.before_request, which is called before each request to the model'),
    ],
)
def test_a_handler_that_no_conversation_has_a_use_for_is_refused_by_its_name(about: dict[str, str], refusal: str) -> None:
    kind = 'HOOK_HANDLER' if 'hook' in about else 'EVENT_HANDLER'
    assert {key: hooks.described('x', kind, about)[key] for key in ('point', 'refusal')} == {'point': None, 'refusal': refusal}


def test_a_handler_that_is_cancelled_by_its_own_code_has_failed_and_the_next_one_runs() -> None:
    async def waits(**_: Any) -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    later = hook('chat.receive.after_process', returning({'modified_kwargs': {'message': {'processed_plain_text': 'Now?'}}}))
    assert run('received', MESSAGE, hook('chat.receive.before_process', waits), later) == {'value': {**MESSAGE, 'text': 'Now?'}, 'stopped': False}
    answer = run('received', MESSAGE, hook('chat.receive.before_process', waits, error_policy='abort'))
    assert answer['stopped']
