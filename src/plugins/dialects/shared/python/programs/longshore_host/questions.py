"""Questions of the plugin to the worker that waits for the answer of a call. The supervisor keeps a question until it is answered: a worker that
takes the call over gets it too."""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import struct
from typing import Any

_LENGTH = struct.Struct('>I')
LARGEST = 1_000_000
_DIALED = 'longshore:context'


_NOBODY = 'this can be asked only during a call of a tool, or in a hook that is waited for'


class QuestionFailed(RuntimeError):
    pass


class Channel:
    """Where a request may ask until it is answered: the path of a socket and a token."""

    def __init__(self, given: dict[str, str] | None) -> None:
        self.given = given

    def close(self) -> None:
        self.given = None


_channel: contextvars.ContextVar[Channel | None] = contextvars.ContextVar('channel', default=None)


def take_channel(params: dict[str, Any]) -> Channel:
    """Notes where this task, and those that it starts, may ask until its request is answered. The caller closes it then."""
    channel = Channel((params.get('_meta') or {}).get('longshore/channel'))
    _channel.set(channel)
    return channel


def has_channel() -> bool:
    """Whether this task belongs to a request that may ask."""
    taken = _channel.get()
    return taken is not None and taken.given is not None


async def ask(what: str, *args: Any) -> Any:
    """Asks the worker. Raises `QuestionFailed` with its reason when it does not answer."""
    taken = _channel.get()
    channel = None if taken is None else taken.given
    if channel is None:
        raise QuestionFailed(_NOBODY)
    request = {'token': channel['token'], 'id': os.urandom(16).hex(), 'tool': _DIALED, 'arguments': {'what': what, 'args': list(args)}}
    body = json.dumps(request, ensure_ascii=False, allow_nan=False).encode('utf-8', 'replace')
    if len(body) > LARGEST:
        raise QuestionFailed(f'a question of {len(body)} bytes; at most {LARGEST} are allowed')
    answer = await _exchange(channel['path'], body)
    if 'error' in answer:
        raise QuestionFailed(str(answer['error'].get('message')))
    return answer.get('ok')


async def _exchange(path: str, body: bytes) -> dict[str, Any]:
    try:
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            writer.write(_LENGTH.pack(len(body)) + body)
            size = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))[0]
            answer: dict[str, Any] = json.loads(await reader.readexactly(size))
            return answer
        finally:
            writer.close()
    except (asyncio.IncompleteReadError, OSError) as problem:
        raise QuestionFailed('the connection to the host was closed') from problem
