"""The context that a method gets, and the functions that send."""

from __future__ import annotations

import asyncio
import base64
import mimetypes
import os
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from longshore_host.calls import image_kind
from longshore_host.tasks import tasks
from longshore_nekro.calling import MethodCall, call_in_progress, call_or_task, is_in_call
from longshore_nekro.refused import NotSupported, refuse

_MOST_BYTES = 20 * 1024 * 1024


class AgentCtx:
    """Who calls, and ways to give something to the conversation."""

    def __init__(self, caller: dict[str, Any]) -> None:
        self.chat_key: str = caller['chat_key']
        self.from_chat_key: str = caller['chat_key']
        self.channel_id: str = caller['chat_key']
        self.container_key: str = caller['chat_key']
        self.channel_name = ''
        self.channel_type = 'private'
        self.adapter_key = 'longshore'
        self.from_user_id: str = caller['user_id']
        self.from_platform_userid: str = caller['user_id']
        self.webhook_request: Any = None
        self.fs = Files()
        self.ms = Messages

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)
        refuse(f'ctx.{name}')

    async def send_text(self, content: str, **_: Any) -> None:
        await Messages.send_text(self.chat_key, content, self)

    async def send_image(self, file_path: str | Path, **_: Any) -> None:
        await Messages.send_image(self.chat_key, file_path, self)

    async def send_file(self, file_path: str | Path, **_: Any) -> None:
        await Messages.send_file(self.chat_key, file_path, self)

    async def push_system(self, message: str, trigger_agent: bool = False) -> None:
        await MessageService.push_system_message(self.chat_key, message, trigger_agent)

    async def get_bound_workspace(self) -> None:
        """There are no workspaces."""


class Files:
    """Files of this sandbox and of the one in which the conversation's code runs."""

    @property
    def shared_path(self) -> Path:
        return _made(_place_of(call_in_progress('ctx.fs.shared_path')) / 'shared')

    def get_file(self, path: str | Path) -> Path:
        """The copy here of a file of the conversation."""
        return local_file(path)

    def forward_file(self, path: str | Path, file_name: str | None = None) -> str:
        source = Path(path)
        return _forward('ctx.fs.forward_file', file_name or source.name, source.read_bytes())

    async def mixed_forward_file(self, file: str | bytes | Path, file_name: str | None = None) -> str:
        """A URL, a data URL, bytes, or a file here."""
        if isinstance(file, bytes):
            return _forward('ctx.fs.mixed_forward_file', file_name or 'file', file)
        if isinstance(file, Path):
            return self.forward_file(file, file_name)
        if not isinstance(file, str):
            raise TypeError(f'a file is given as a URL, a path or bytes, not as {type(file).__name__}')
        if file.startswith('data:'):
            kind, content = read_data_url(file)
            return _forward('ctx.fs.mixed_forward_file', file_name or f'file{mimetypes.guess_extension(kind) or ""}', content)
        if file.startswith(('http://', 'https://')):
            call_in_progress('ctx.fs.mixed_forward_file')
            name = file_name or Path(urllib.parse.urlparse(file).path).name or 'download'
            return _forward('ctx.fs.mixed_forward_file', name, await fetched(file))
        return self.forward_file(file, file_name)


class Messages:
    """Sends to the user of the conversation whose code or model called: it reaches the user when the call ends. A task sends to any conversation, at once."""

    @staticmethod
    async def send_text(chat_key: str, content: str, *_: Any, **__: Any) -> None:
        await _send(call_or_task(chat_key, 'send_text'), chat_key, {'type': 'text', 'text': str(content)})

    @staticmethod
    async def send_image(chat_key: str, file_path: str | Path, *_: Any, **__: Any) -> None:
        call = call_or_task(chat_key, 'send_image')
        content = read_data_url(file_path)[1] if isinstance(file_path, str) and file_path.startswith('data:') else _bytes_of(file_path)
        kind = image_kind(content[:4])
        if kind is None:
            raise ValueError('this is no image; PNG, JPEG, GIF and WebP can be shown')
        await _send(call, chat_key, {'type': 'image', 'mediaType': kind, 'path': str(_kept(call, 'image', content))})

    @staticmethod
    async def send_file(chat_key: str, file_path: str | Path, *_: Any, **__: Any) -> None:
        call = call_or_task(chat_key, 'send_file')
        name = Path(file_path).name
        kind = mimetypes.guess_type(name)[0] or 'application/octet-stream'
        await _send(call, chat_key, {'type': 'file', 'mediaType': kind, 'name': name, 'path': str(_kept(call, name, _bytes_of(file_path)))})


class MessageService:
    @staticmethod
    async def push_system_message(chat_key: str, agent_messages: Any, trigger_agent: bool = False, **_: Any) -> None:
        call = call_or_task(chat_key, 'push_system_message')
        note = {'text': _text_of(agent_messages), 'wake': bool(trigger_agent)}
        if call is None:
            await tasks.ask('note', chat_key, note)
        else:
            call.notes.append(note)

    @staticmethod
    async def push_bot_message(chat_key: str, agent_messages: Any, **_: Any) -> None:
        await Messages.send_text(chat_key, _text_of(agent_messages))


async def _send(call: MethodCall | None, chat_key: str, part: dict[str, Any]) -> None:
    if call is not None:
        call.sent.append(part)
        return
    try:
        await tasks.ask('send', chat_key, part)
    finally:
        if 'path' in part:
            Path(part['path']).unlink()


def local_file(path: str | Path, *_: Any, **__: Any) -> Path:
    """The copy here of a file of the conversation; a file that the call has forwarded; or a file here."""
    name = str(path)
    if not is_in_call() and Path(name).exists():
        return Path(name)
    call = call_in_progress('reading a file of the conversation')
    brought = call.caller['files'].get(name)
    if brought is not None:
        return Path(brought)
    forwarded = call.forwarded.get(Path(name).name)
    if forwarded is not None and name == _path_of(call, Path(name).name):
        return forwarded
    if Path(name).exists():
        return Path(name)
    raise NotSupported(f'the file {name} of the conversation is not here: only files whose paths are whole texts in the arguments of the method are brought')


def read_data_url(url: str) -> tuple[str, bytes]:
    head, _, body = url[len('data:') :].partition(',')
    kind = head.split(';')[0] or 'text/plain'
    if head.endswith(';base64'):
        return kind, base64.b64decode(body)
    return kind, urllib.parse.unquote_to_bytes(body)


async def fetched(url: str) -> bytes:
    """Uses the proxy of the sandbox, so only what is granted is reached."""

    def fetch() -> bytes:
        with urllib.request.urlopen(urllib.request.Request(url, headers={'User-Agent': 'Mozilla/5.0'}), timeout=60) as response:
            return bytes(response.read(_MOST_BYTES + 1))

    content = await asyncio.to_thread(fetch)
    if len(content) > _MOST_BYTES:
        raise ValueError(f'the file at {url} has more than {_MOST_BYTES} bytes')
    return content


def _text_of(messages: Any) -> str:
    parts = messages if isinstance(messages, (list, tuple)) else [messages]
    return '\n'.join(str(getattr(part, 'text', part)) for part in parts)


def _bytes_of(path: str | Path) -> bytes:
    return local_file(path).read_bytes()


def _forward(what: str, name: str, content: bytes) -> str:
    call = call_in_progress(what)
    if len(content) > _MOST_BYTES:
        raise ValueError(f'{what}: {len(content)} bytes are too many; at most {_MOST_BYTES} are allowed')
    plain = Path(name.replace('\\', '/')).name or 'file'
    free, number = plain, 1
    while free in call.forwarded:
        number += 1
        free = f'{Path(plain).stem}-{number}{Path(plain).suffix}'
    call.forwarded[free] = _kept(call, free, content)
    return _path_of(call, free)


def _path_of(call: MethodCall, name: str) -> str:
    return f'{call.caller["directory"]}/{name}'


def _kept(call: MethodCall | None, name: str, content: bytes) -> Path:
    """A copy that stays as it is until the worker has fetched it."""
    directory = _made(_of_tasks() if call is None else _place_of(call) / 'given')
    path = directory / f'{os.urandom(8).hex() if call is None else len(list(directory.iterdir()))}-{Path(name).name}'
    path.write_bytes(content)
    return path


def _of_tasks() -> Path:
    return Path.home() / '.longshore-calls' / 'tasks'


def _place_of(call: MethodCall) -> Path:
    return Path(call.caller['place'])


def _made(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
