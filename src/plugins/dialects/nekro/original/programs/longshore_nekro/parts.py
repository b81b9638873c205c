"""Small parts of the host that plugins import."""

from __future__ import annotations

import difflib
import enum
import logging
import sys
from pathlib import Path
from typing import Any

from longshore_host.calls import image_kind
from longshore_host.tasks import tasks
from longshore_nekro.calling import is_in_call, of_this_conversation
from longshore_nekro.context import fetched, local_file
from longshore_nekro.models import MODEL_GROUPS, group_named
from longshore_nekro.plugin import environment
from longshore_nekro.refused import refuse


class Logger:
    """Has the methods of loguru that plugins use; what it logs is the log of the plugin's process."""

    def __init__(self, name: str = 'plugin') -> None:
        self._logger = logging.getLogger(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)
        level = {'trace': 'DEBUG', 'success': 'INFO', 'exception': 'ERROR'}.get(name, name.upper())
        if not isinstance(logging.getLevelName(level), int):
            raise AttributeError(name)
        return lambda message, *args, **options: self._log(logging.getLevelName(level), message, args, options, name == 'exception')

    def opt(self, **_: Any) -> Logger:
        return self

    def bind(self, **_: Any) -> Logger:
        return self

    def _log(self, level: int, message: Any, args: tuple[Any, ...], options: dict[str, Any], with_trace: bool) -> None:
        text = str(message)
        try:
            text = text.format(*args, **options) if args or options else text
        except (LookupError, ValueError):
            pass
        self._logger.log(level, '%s', text, exc_info=with_trace and sys.exc_info()[0] is not None)


logger = Logger()


def get_sub_logger(name: str = 'plugin', *_: Any, **__: Any) -> Logger:
    return Logger(name)


def i18n_text(**texts: str) -> dict[str, str]:
    return texts


class Settings:
    """Settings of the host. There is one group of models, that of the agent, and no proxy to name: connections go through that of the sandbox by themselves."""

    MODEL_GROUPS = MODEL_GROUPS
    get_model_group_info = staticmethod(group_named)
    DEFAULT_PROXY = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)
        refuse(f'nekro_agent.core.config.config.{name}')


class OsEnv:
    DATA_DIR = str(environment.home / 'data')


class ChatType(enum.Enum):
    PRIVATE = 'private'
    GROUP = 'group'
    UNKNOWN = 'unknown'


class MsgSignal(enum.IntEnum):
    FORCE_TRIGGER = -1
    CONTINUE = 0
    BLOCK_TRIGGER = 1
    BLOCK_ALL = 2


class CommandOutputSegmentType(str, enum.Enum):
    TEXT = 'text'
    IMAGE = 'image'
    FILE = 'file'


class _Fields:
    def __init__(self, *_: Any, **fields: Any) -> None:
        vars(self).update(fields)


class Arg(_Fields):
    """What is said of a parameter of a command."""

    def __init__(self, description: str = '', **fields: Any) -> None:
        super().__init__(description=description, **fields)


class CommandExecutionContext(_Fields):
    """Who gives a command. Whether a command may be given is up to the rules of the agent."""

    is_super_user = False
    is_advanced_user = False
    lang = 'zh-CN'


class CommandOutputSegment(_Fields):
    """A part of the answer to a command: a text, or a file here."""

    type = CommandOutputSegmentType.TEXT
    text = ''
    file_path: str | None = None
    file_name: str | None = None


class CommandResponse(_Fields):
    """The answer to a command. A command that waits for another message gets none: its answer says what may be given instead."""

    status = 'success'
    message = ''
    output_segments: list[CommandOutputSegment] | None = None
    wait_options: list[str] | None = None


class CmdCtl:
    @staticmethod
    def success(message: Any = '', **fields: Any) -> CommandResponse:
        return _response('success', message, fields)

    @staticmethod
    def failed(message: Any = '', **fields: Any) -> CommandResponse:
        return _response('error', message, fields)

    @staticmethod
    def message(message: Any = '', **fields: Any) -> CommandResponse:
        return _response('processing', message, fields)

    @staticmethod
    def wait(message: Any = '', callback_cmd: str = '', options: list[str] | None = None, **fields: Any) -> CommandResponse:
        return _response('waiting', message, {**fields, 'callback_cmd': callback_cmd, 'wait_options': options})


def _response(status: str, message: Any, fields: dict[str, Any]) -> CommandResponse:
    """A message is a text, the same text in several languages, or parts of an answer."""
    if isinstance(message, dict):
        message = message.get('en_US') or next(iter(message.values()), '')
    segments = message if isinstance(message, (list, tuple)) else [message] if isinstance(message, CommandOutputSegment) else None
    given = {'output_segments': list(segments), 'message': ''} if segments is not None else {'message': str(message or '')}
    return CommandResponse(status=status, **{**given, **fields})


class Preset(_Fields):
    """The personality of the agent: its id is its name."""

    name: str
    content = ''


class ChatChannel:
    """What is known of a conversation."""

    def __init__(self, chat_key: str, agent_id: str) -> None:
        self.chat_key = chat_key
        self.channel_id = chat_key
        self.channel_name = ''
        self.adapter_key = 'longshore'
        self.chat_type = ChatType.PRIVATE
        self.is_active = True
        self.preset_id = None
        self._agent_id = agent_id

    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)
        refuse(f'nekro_agent.models.db_chat_channel.DBChatChannel.{name}')

    async def get_preset(self) -> Preset:
        return Preset(name=self._agent_id)


class ChannelType(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)
        refuse(f'nekro_agent.models.db_chat_channel.DBChatChannel.{name}')


class DBChatChannel(metaclass=ChannelType):
    @staticmethod
    async def get_channel(chat_key: str = '', **_: Any) -> ChatChannel:
        call = of_this_conversation(chat_key, 'DBChatChannel.get_channel')
        return ChatChannel(call.conversation_id, call.caller['agent_id'])

    @staticmethod
    async def all() -> list[ChatChannel]:
        """The open conversations that have the plugin. In a call it is that of the call: the model must not learn of others."""
        if is_in_call():
            return [await DBChatChannel.get_channel()]
        return [ChatChannel(each['conversationId'], each['agentId']) for each in await tasks.ask('conversations')]


class Magic:
    """Stands for the package python-magic where the library that it needs is not installed: kinds of files by their first bytes."""

    def __init__(self, mime: bool = False, **_: Any) -> None:
        self._mime = mime

    def from_buffer(self, content: bytes) -> str:
        return kind_of(bytes(content[:16]), self._mime)

    def from_file(self, path: str | Path) -> str:
        with open(path, 'rb') as file:
            return kind_of(file.read(16), self._mime)


_KINDS = ((b'%PDF', 'application/pdf'), (b'PK\x03\x04', 'application/zip'), (b'OggS', 'audio/ogg'), (b'ID3', 'audio/mpeg'), (b'fLaC', 'audio/flac'))


def kind_of(head: bytes, mime: bool = True) -> str:
    kind = image_kind(head[:4]) or next((kind for beginning, kind in _KINDS if head.startswith(beginning)), None)
    if kind is None:
        kind = 'video/mp4' if head[4:8] == b'ftyp' else 'application/octet-stream' if b'\0' in head else 'text/plain'
    return kind if mime else kind.split('/')[1]


def magic_from_buffer(content: bytes, mime: bool = False) -> str:
    return Magic(mime).from_buffer(content)


def magic_from_file(path: str | Path, mime: bool = False) -> str:
    return Magic(mime).from_file(path)


def is_url_path(path: str) -> bool:
    return str(path).startswith(('http://', 'https://'))


def limited_text_output(text: str, limit: int = 1000, *_: Any, **__: Any) -> str:
    half = limit // 2
    return text if len(text) <= limit else f'{text[:half]}...{text[-half:]}'


def calculate_text_similarity(text1: str, text2: str, min_length: int = 1, **_: Any) -> float:
    return 0.0 if min(len(text1), len(text2)) < min_length else difflib.SequenceMatcher(None, text1, text2).ratio()


async def download_file(url: str, file_path: str = '', file_name: str = '', use_suffix: str = '', **_: Any) -> tuple[str, str]:
    """The path here of a file at a URL, or of one of the conversation, and its name."""
    if not is_url_path(url):
        found = local_file(url)
        return str(found), found.name
    name = file_name or Path(url.split('?', maxsplit=1)[0]).name or 'download'
    path = Path(file_path) if file_path else environment.home / 'data' / 'downloads' / f'{name}{use_suffix}'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(await fetched(url))
    return str(path), path.name
