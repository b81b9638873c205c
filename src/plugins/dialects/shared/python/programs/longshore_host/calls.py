"""The call that is in progress, and what it sends."""

from __future__ import annotations

import base64
import binascii
import contextvars
from typing import Any


class Call:
    """A call of a tool. What it sends is delivered with its result."""

    def __init__(self, conversation_id: str, user_id: str = '') -> None:
        self.conversation_id = conversation_id
        self.user_id = user_id
        self.sent: list[dict[str, Any]] = []
        self.over = False


# Tasks that a call starts see it too, also after its end.
current: contextvars.ContextVar[Call | None] = contextvars.ContextVar('call', default=None)


_SIGNATURES = ((b'\x89PNG', 'image/png'), (b'\xff\xd8', 'image/jpeg'), (b'GIF8', 'image/gif'), (b'RIFF', 'image/webp'))


def image_of(data: str) -> dict[str, str]:
    """An image that is given as base64 or as a data URL, as a part of a message."""
    body = data.split(',', 1)[1] if data.startswith('data:') and ',' in data else data
    try:
        head = base64.b64decode(body, validate=True)[:4]
    except (ValueError, binascii.Error) as problem:
        raise ValueError('an image has to be base64') from problem
    return {'type': 'image', 'mediaType': image_kind(head) or 'image/png', 'data': body}


def image_kind(head: bytes) -> str | None:
    """The media type of an image, by its first four bytes."""
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)
