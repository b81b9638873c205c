"""`ctx.send`: what a call sends is delivered with its result, and what a task sends at once."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from longshore_host.calls import current, image_of
from longshore_host.questions import QuestionFailed
from longshore_host.tasks import tasks
from longshore_maibot.refused import CapabilityRefused

# How custom messages that carry the bytes of a file are named and typed.
_FILES = {'voice': ('voice.wav', 'audio/wav'), 'audio': ('audio.mp3', 'audio/mpeg'), 'video': ('video.mp4', 'video/mp4')}
_FORWARDED = 100
_REFERENCES = ('at', 'reply')


async def text(args: dict[str, Any]) -> dict[str, Any]:
    return await _send(args, [{'type': 'text', 'text': str(args.get('text', ''))}])


async def image(args: dict[str, Any]) -> dict[str, Any]:
    return await _send(args, [_image_of(args.get('image_base64', ''))])


async def emoji(args: dict[str, Any]) -> dict[str, Any]:
    return await _send(args, [_image_of(args.get('emoji_base64', ''))])


async def hybrid(args: dict[str, Any]) -> dict[str, Any]:
    return await _send(args, _parts_of('send.hybrid', args.get('segments') or args.get('parts')))


async def forward(args: dict[str, Any]) -> dict[str, Any]:
    """Each message is told with the name of who is to have said it."""
    parts: list[dict[str, Any]] = []
    for message in (args.get('messages') or [])[:_FORWARDED]:
        if not isinstance(message, dict):
            raise CapabilityRefused('send.forward: each of the messages has to have a nickname and segments')
        name = str(message.get('nickname') or message.get('user_nickname') or message.get('name') or '')
        of_message = _parts_of('send.forward', message.get('segments') or message.get('content'))
        parts += [{**part, 'text': f'{name}: {part["text"]}'} if name and part['type'] == 'text' else part for part in of_message]
    return await _send(args, parts)


async def custom(args: dict[str, Any]) -> dict[str, Any]:
    kind = str(args.get('message_type') or args.get('custom_type') or '')
    content = args.get('content', args.get('data'))
    if kind in _FILES:
        return await _send(args, [_file_of('send.custom', kind, content)])
    return await _send(args, [_part_of('send.custom', {'type': kind, 'data': content})])


async def _send(args: dict[str, Any], parts: list[dict[str, Any]]) -> dict[str, Any]:
    call = current.get()
    stream_id = args.get('stream_id')
    if call is None or call.over:
        await _send_from_task(str(stream_id or ('' if call is None else call.conversation_id)), parts)
    elif stream_id in (None, '', call.conversation_id):
        call.sent += parts
    else:
        raise CapabilityRefused(f'the stream {stream_id} is not the one of this call')
    return {'success': True, 'sent': True}


async def _send_from_task(stream_id: str, parts: list[dict[str, Any]]) -> None:
    if stream_id == '':
        raise CapabilityRefused('stream_id has to name a conversation outside of a call')
    try:
        await tasks.ask('send', stream_id, *parts)
    except QuestionFailed as problem:
        raise CapabilityRefused(str(problem)) from problem


def _parts_of(what: str, segments: Any) -> list[dict[str, Any]]:
    if isinstance(segments, str):
        return [{'type': 'text', 'text': segments}]
    return [_part_of(what, segment) for segment in segments or []]


def parts_of_message(segments: list[Any]) -> list[dict[str, Any]]:
    """Parts of a message of MaiBot; voice and video become files. What refers to other messages or persons is left out."""
    kinds = [(segment, segment.get('type')) for segment in segments if isinstance(segment, dict)]
    return [
        _file_of('a message', kind, segment.get('binary_data_base64') or segment.get('data')) if kind in _FILES else _part_of('a message', segment)
        for segment, kind in kinds
        if kind not in _REFERENCES
    ]


def _part_of(what: str, segment: Any) -> dict[str, Any]:
    kind = segment.get('type') if isinstance(segment, dict) else None
    if kind not in ('text', 'image', 'emoji'):
        raise CapabilityRefused(f'{what}: parts of the type {kind} are not supported; text, image and emoji are')
    content = segment.get('binary_data_base64') or segment.get('content') or segment.get('data') or ''
    if isinstance(content, dict):
        content = content.get('text', '')
    return {'type': 'text', 'text': str(content)} if kind == 'text' else _image_of(content)


def _image_of(data: Any) -> dict[str, str]:
    try:
        return image_of(str(data))
    except ValueError as problem:
        raise CapabilityRefused(str(problem)) from problem


def _file_of(what: str, kind: str, content: Any) -> dict[str, str]:
    data = str(content)
    body = data.split(',', 1)[1] if data.startswith('data:') and ',' in data else data
    try:
        base64.b64decode(body, validate=True)
    except (ValueError, binascii.Error) as problem:
        raise CapabilityRefused(f'{what}: {kind} has to be base64') from problem
    name, media_type = _FILES[kind]
    return {'type': 'file', 'mediaType': media_type, 'name': name, 'data': body}
