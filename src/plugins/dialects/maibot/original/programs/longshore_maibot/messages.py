"""`ctx.message` and `ctx.chat`: the conversation of the call, which is the only chat that there is."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from longshore_host.calls import Call, current
from longshore_host.questions import ask
from longshore_maibot.refused import CapabilityRefused

_PLATFORM = 'longshore'
_AGENT = 'agent'


async def recent(args: dict[str, Any]) -> dict[str, Any]:
    return {'success': True, 'messages': _last(await _messages(args), args.get('limit', 100))}


async def by_id(args: dict[str, Any]) -> dict[str, Any]:
    wanted = str(args.get('message_id') or args.get('msg_id') or '')
    found = next((message for message in await _messages(args) if message['message_id'] == wanted), None)
    return {'success': True, 'message': found}


async def by_time(args: dict[str, Any]) -> dict[str, Any]:
    begin, end = _moment(args.get('start_time'), 0.0), _moment(args.get('end_time'), float('inf'))
    found = [message for message in await _messages(args) if begin <= message['time'] <= end]
    return {'success': True, 'messages': _last(found, args.get('limit', 0))}


async def count_new(args: dict[str, Any]) -> dict[str, Any]:
    since = _moment(args.get('since', args.get('start_time')), 0.0)
    return {'success': True, 'count': sum(message['time'] > since for message in await _messages(args))}


async def readable(args: dict[str, Any]) -> dict[str, Any]:
    given = args.get('messages')
    messages = (await by_time(args))['messages'] if given is None else given
    return {'success': True, 'text': '\n'.join(_line_of(message) for message in messages if isinstance(message, dict))}


async def all_streams(args: dict[str, Any]) -> dict[str, Any]:
    return {'success': True, 'streams': [_stream_of(_call())]}


async def no_streams(args: dict[str, Any]) -> dict[str, Any]:
    _call()
    return {'success': True, 'streams': []}


async def stream_of_user(args: dict[str, Any]) -> dict[str, Any]:
    call = _call()
    return {'success': True, 'stream': _stream_of(call) if str(args.get('user_id')) == call.user_id else None}


async def no_stream(args: dict[str, Any]) -> dict[str, Any]:
    _call()
    return {'success': True, 'stream': None}


def _call() -> Call:
    call = current.get()
    if call is None or call.over:
        raise CapabilityRefused('a plugin can see a conversation only during a call of one of its tools')
    return call


async def _messages(args: dict[str, Any]) -> list[dict[str, Any]]:
    """Oldest first."""
    call = _call()
    chat = args.get('chat_id') or args.get('stream_id')
    if chat not in (None, '', call.conversation_id):
        raise CapabilityRefused(f'the chat {chat} is not the one of this call')
    messages = [message_of(said, call) for said in await ask('messages')]
    return [message for message in messages if not (args.get('filter_mai') and message['message_info']['user_info']['user_id'] == _AGENT)]


def message_of(said: dict[str, str], call: Call) -> dict[str, Any]:
    user = call.user_id if said['by'] == 'user' else _AGENT
    time = datetime.fromisoformat(said['at'].replace('Z', '+00:00')).timestamp()
    return {
        'message_id': said['id'],
        'timestamp': str(time),
        'time': time,
        'platform': _PLATFORM,
        'session_id': call.conversation_id,
        'chat_id': call.conversation_id,
        'user_id': user,
        'user_nickname': user,
        'message_info': {
            'user_info': {'user_id': user, 'user_nickname': user, 'user_cardname': None},
            'group_info': None,
            'additional_config': {},
        },
        'raw_message': [{'type': 'text', 'data': said['text']}],
        'processed_plain_text': said['text'],
        'is_mentioned': False,
        'is_at': False,
        'is_emoji': False,
        'is_picture': False,
        'is_command': False,
        'is_notify': False,
    }


def _stream_of(call: Call) -> dict[str, Any]:
    return {
        'session_id': call.conversation_id,
        'stream_id': call.conversation_id,
        'platform': _PLATFORM,
        'user_id': call.user_id,
        'user_nickname': call.user_id,
        'user_cardname': None,
        'group_id': None,
        'group_name': None,
        'account_id': None,
        'scope': None,
        'is_group_session': False,
        'chat_type': 'private',
    }


def _last(messages: list[dict[str, Any]], limit: Any) -> list[dict[str, Any]]:
    count = int(limit or 0)
    return messages[-count:] if count > 0 else messages


def _moment(given: Any, otherwise: float) -> float:
    """Seconds since 1970, as MaiBot has them; also ISO 8601."""
    if given in (None, ''):
        return otherwise
    try:
        return float(given)
    except (TypeError, ValueError):
        pass
    try:
        return datetime.fromisoformat(str(given).replace('Z', '+00:00')).timestamp()
    except ValueError as problem:
        raise CapabilityRefused(f'{str(given)[:100]!a} is not a time: give seconds since 1970') from problem


def _line_of(message: dict[str, Any]) -> str:
    user = ((message.get('message_info') or {}).get('user_info') or {}).get('user_nickname') or message.get('user_nickname') or ''
    return f'{user}: {message.get("processed_plain_text", "")}'
