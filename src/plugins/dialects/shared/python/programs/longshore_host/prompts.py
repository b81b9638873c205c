"""Prompts for the model of the agent, as plugins write them."""

from __future__ import annotations

import base64
import binascii
import io
import json
from typing import Any

from longshore_host.calls import image_kind

_MOST_IMAGES = 8
# A question has a megabyte at most.
_MOST_BYTES = 450_000
_LONGEST_SIDE = 1568
_ROLES = {'system': 'system', 'developer': 'system', 'assistant': 'assistant'}


class PromptRefused(ValueError):
    pass


def messages_of(prompt: Any) -> list[dict[str, Any]]:
    """A prompt is a text, or messages as OpenAI has them, of which texts and images are supported."""
    if isinstance(prompt, str) and prompt.strip():
        return [{'role': 'user', 'text': prompt}]
    if isinstance(prompt, list) and prompt and all(isinstance(message, dict) for message in prompt):
        return [_message_of(message) for message in prompt]
    raise PromptRefused('the prompt has to be a text or a list of messages, each with role and content')


def _message_of(message: dict[str, Any]) -> dict[str, Any]:
    role = str(message.get('role', 'user'))
    text = _text_of(message.get('content'))
    if role == 'tool':
        return {'role': 'user', 'text': f'Result of {message.get("tool_call_id") or "the call"}: {text}'}
    calls = message.get('tool_calls')
    if calls:
        text = '\n'.join(filter(None, [text, f'Calls: {json.dumps(calls, ensure_ascii=False, default=str)}']))
    images = _images_in(message.get('content'))
    return {'role': _ROLES.get(role, 'user'), 'text': text, **({'images': images} if images else {})}


def _images_in(content: Any) -> list[dict[str, str]]:
    parts = content if isinstance(content, list) else [content]
    urls = [part.get('image_url') for part in parts if isinstance(part, dict) and part.get('type') == 'image_url']
    if len(urls) > _MOST_IMAGES:
        raise PromptRefused(f'{len(urls)} images; at most {_MOST_IMAGES} are allowed in a message')
    return [_image_of(str(url.get('url') if isinstance(url, dict) else url)) for url in urls]


def _image_of(url: str) -> dict[str, str]:
    """The bytes of an image, which has to come with the prompt. One that is too large is made smaller, where Pillow is installed."""
    if not url.startswith('data:') or ',' not in url:
        raise PromptRefused('an image is given as a data URL; download it first')
    try:
        content = base64.b64decode(url.split(',', 1)[1], validate=True)
    except (ValueError, binascii.Error) as problem:
        raise PromptRefused('an image has to be base64') from problem
    content = content if len(content) <= _MOST_BYTES else _smaller(content)
    kind = image_kind(content[:4])
    if kind is None:
        raise PromptRefused('this is no image; PNG, JPEG, GIF and WebP can be shown')
    return {'mediaType': kind, 'data': base64.b64encode(content).decode()}


def _smaller(content: bytes) -> bytes:
    refused = PromptRefused(f'an image of {len(content)} bytes; at most {_MOST_BYTES} are allowed')
    try:
        from PIL import Image
    except ImportError:
        raise refused from None
    target = io.BytesIO()
    try:
        with Image.open(io.BytesIO(content)) as image:
            image.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
            image.convert('RGB').save(target, 'JPEG', quality=80)
    # Pillow raises errors of many kinds for what is no image.
    except Exception as problem:
        raise PromptRefused(f'this image cannot be read: {problem}') from problem
    if target.tell() > _MOST_BYTES:
        raise refused
    return target.getvalue()


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return '\n'.join(filter(None, (_text_of(part) for part in content)))
    if isinstance(content, dict):
        kind = content.get('type', 'text')
        if kind == 'image_url':
            return ''
        if kind != 'text':
            raise PromptRefused(f'parts of the type {kind} are not supported; text and image_url are')
        return str(content.get('text', content.get('data', '')))
    return '' if content is None else str(content)
