"""Messages, prompts and answers as handlers of MaiBot see them, and what handlers change of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from longshore_maibot.messages import message_of
from longshore_maibot.sending import parts_of_message

if TYPE_CHECKING:
    from longshore_host.calls import Call

_SEQ = 'longshore_seq'
"""Says which message of a prompt it is."""


class Show(Protocol):
    def __call__(self, value: dict[str, Any], call: Call, of: str) -> dict[str, Any]: ...


class Changed(Protocol):
    def __call__(self, value: dict[str, Any], answer: Any, given: dict[str, Any]) -> dict[str, Any]: ...


class Kind(NamedTuple):
    show: Show
    changed: Changed


def _show_received(value: dict[str, Any], call: Call, of: str) -> dict[str, Any]:
    message = {**message_of({**value, 'by': 'user'}, call), 'is_command': value['isCommand'], 'is_picture': value['hasImage']}
    return {'message': message, 'plain_text': value['text']}


def _show_sending(value: dict[str, Any], call: Call, of: str) -> dict[str, Any]:
    message = message_of({**value, 'by': 'agent'}, call)
    options = {'typing': False, 'set_reply': False, 'reply_message_id': None, 'storage_message': True, 'show_log': True}
    return {'message': message, 'plain_text': value['text'], 'processed_plain_text': value['text'], 'sent': True, **options}


def _changed_received(value: dict[str, Any], answer: Any, given: dict[str, Any]) -> dict[str, Any]:
    return _changed_message(value, answer, given, ('processed_plain_text', 'plain_text'))


def _changed_sending(value: dict[str, Any], answer: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What MaiBot sends are the pieces of a message, not its text."""
    return _changed_message(value, answer, given, ('plain_text',))


def _changed_message(value: dict[str, Any], answer: Any, given: dict[str, Any], texts: tuple[str, ...]) -> dict[str, Any]:
    message = _fields_of(answer).get('message')
    before = given['message']
    if isinstance(message, str):
        return {**value, 'text': message}
    message = _as_dict(message)
    # A handler that rewrites the pieces of a message may leave its text as it was.
    pieces = message.get('raw_message', before['raw_message'])
    if isinstance(pieces, list) and pieces != before['raw_message']:
        parts = parts_of_message(pieces)
        media = [part for part in parts if part['type'] != 'text']
        return {**value, 'text': ''.join(part['text'] for part in parts if part['type'] == 'text'), **({'parts': media} if media else {})}
    for name in texts:
        text = message.get(name, before.get(name))
        if isinstance(text, str) and text != before.get(name, before['processed_plain_text']):
            return {**value, 'text': text}
    return value


def _show_asking(value: dict[str, Any], call: Call, of: str) -> dict[str, Any]:
    messages = [{'role': 'system', 'content': value['instructions'], _SEQ: 0}]
    messages += [{'role': message['role'], 'content': message['text'], _SEQ: message['seq']} for message in value['messages']]
    tools = [{'type': 'function', 'function': {key: tool[key] for key in ('name', 'description', 'parameters')}} for tool in value['tools']]
    counts = {'selected_history_count': len(value['messages']), 'built_message_count': len(messages)}
    names = {'session_id': call.conversation_id, 'request_type': '', 'task_name': '', 'model_name': '', 'extra_prompt': '', 'reply_reason': ''}
    return {'messages': messages, 'tool_definitions': tools, **counts, **names}


def _changed_prompt(value: dict[str, Any], answer: Any, given: dict[str, Any]) -> dict[str, Any]:
    fields = _fields_of(answer)
    changed = dict(value)
    if isinstance(fields.get('messages'), list):
        changed.update(_prompt_of(fields['messages'], value))
    extra = fields.get('extra_prompt')
    if isinstance(extra, str) and extra.strip():
        changed['instructions'] = f'{changed["instructions"]}\n\n{extra}'.strip()
    tools = fields.get('tool_definitions')
    if isinstance(tools, list):
        kept = {function.get('name'): function for function in (tool.get('function') for tool in tools if isinstance(tool, dict)) if isinstance(function, dict)}
        # A plugin cannot add a tool that the agent does not have.
        changed['tools'] = [
            {**tool, 'description': str(kept[tool['name']].get('description') or tool['description'])} for tool in value['tools'] if tool['name'] in kept
        ]
    return changed


def _prompt_of(messages: list[Any], value: dict[str, Any]) -> dict[str, Any]:
    """Messages that a handler has added stay where it has put them; what it has added for the system is added to the instructions."""
    instructions, said = '', []
    for message in messages:
        if not isinstance(message, dict):
            continue
        text, role, seq = _text_of(message.get('content')), str(message.get('role') or 'user'), message.get(_SEQ)
        if role == 'system' and not seq:
            instructions = f'{instructions}\n\n{text}'.strip()
        else:
            said.append({'role': role, 'text': text, 'seq': seq if isinstance(seq, int) else None})
    return {'instructions': instructions, 'messages': said}


def _show_answered(value: dict[str, Any], call: Call, of: str) -> dict[str, Any]:
    calls = [{'id': each['id'], 'type': 'function', 'function': {'name': each['name'], 'arguments': each['arguments']}} for each in value['calls']]
    used = value['usage']
    counts = {'prompt_tokens': used['inputTokens'], 'completion_tokens': used['outputTokens'], 'total_tokens': used['inputTokens'] + used['outputTokens']}
    message = {**message_of({**value, 'by': 'agent'}, call), 'llm_response_content': value['text'], 'llm_response_tool_call': calls}
    return {'response': value['text'], 'tool_calls': calls, 'reasoning': '', 'session_id': call.conversation_id, 'message': message, **counts}


def _changed_answer(value: dict[str, Any], answer: Any, given: dict[str, Any]) -> dict[str, Any]:
    fields = _fields_of(answer)
    changed = dict(value)
    texts = [fields.get('response'), _as_dict(fields.get('message')).get('llm_response_content')]
    text = next((each for each in texts if isinstance(each, str) and each != value['text']), None)
    if text is not None:
        changed['text'] = text
    calls = fields.get('tool_calls')
    if isinstance(calls, list):
        kept = {each.get('id'): each.get('function') or {} for each in calls if isinstance(each, dict)}
        changed['calls'] = [
            {**each, 'arguments': kept[each['id']]['arguments']} if isinstance(kept[each['id']].get('arguments'), dict) else each
            for each in value['calls']
            if each['id'] in kept
        ]
    return changed


def _fields_of(answer: Any) -> dict[str, Any]:
    """What a handler has changed: `modified_kwargs` of hooks, `modified_message` of events."""
    if not isinstance(answer, dict):
        return {}
    fields = answer.get('modified_kwargs')
    given = dict(fields) if isinstance(fields, dict) else {}
    if answer.get('modified_message') is not None:
        given['message'] = answer['modified_message']
    return given


def _as_dict(message: Any) -> dict[str, Any]:
    if hasattr(message, 'to_rpc_dict'):
        message = message.to_rpc_dict()
    return message if isinstance(message, dict) else {}


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return '\n'.join(_text_of(part) for part in content)
    if isinstance(content, dict):
        return str(content.get('text', content.get('data', '')))
    return '' if content is None else str(content)


KINDS: dict[str, Kind] = {
    'received': Kind(_show_received, _changed_received),
    'asking': Kind(_show_asking, _changed_prompt),
    'answered': Kind(_show_answered, _changed_answer),
    'sending': Kind(_show_sending, _changed_sending),
    'sent': Kind(_show_sending, _changed_sending),
}
