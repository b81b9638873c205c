"""Questions to the model of the agent, as plugins of Nekro Agent ask them. There is one group of models, and the agent's model does what it is asked."""

from __future__ import annotations

import base64
import time
from types import SimpleNamespace
from typing import Any

from longshore_host.model import ask_model
from longshore_host.prompts import messages_of
from longshore_nekro.context import local_file
from longshore_nekro.refused import refuse

_GROUP = 'default'
# What plugins pass on as the name of the model.
_MODEL = 'agent'


class ModelConfigGroup(SimpleNamespace):
    """Settings of a group. Address and key are empty: the worker asks the model."""


MODEL_GROUPS = {
    _GROUP: ModelConfigGroup(
        GROUP_NAME=_GROUP, CHAT_MODEL=_MODEL, CHAT_PROXY='', BASE_URL='', API_KEY='', MODEL_TYPE='chat', ENABLE_VISION=True, ENABLE_COT=False
    )
}


def group_named(name: str, *_: Any, **__: Any) -> ModelConfigGroup:
    if name not in MODEL_GROUPS:
        raise KeyError(
            f'there is no group of models {name!r} in Longshore; give the setting of the plugin the value {_GROUP!r}, which is the model of the agent'
        )
    return MODEL_GROUPS[name]


class ContentSegment:
    @staticmethod
    def text_content(text: str) -> dict[str, Any]:
        return {'type': 'text', 'text': text}

    @staticmethod
    def image_content(image_url: str) -> dict[str, Any]:
        return {'type': 'image_url', 'image_url': {'url': image_url}}

    @classmethod
    def image_content_from_bytes(cls, image_bytes: bytes, image_type: str = 'png') -> dict[str, Any]:
        return cls.image_content(f'data:image/{image_type};base64,{base64.b64encode(image_bytes).decode()}')

    @classmethod
    def image_content_from_path(cls, image_path: Any) -> dict[str, Any]:
        if str(image_path).startswith('data:'):
            return cls.image_content(str(image_path))
        return cls.image_content_from_bytes(local_file(image_path).read_bytes())


class OpenAIChatMessage:
    def __init__(self, role: str, content: list[dict[str, Any]]) -> None:
        self.role = role
        self.content = content

    @classmethod
    def from_text(cls, role: str, text: str) -> OpenAIChatMessage:
        return cls(role, [ContentSegment.text_content(text)])

    @classmethod
    def create_empty(cls, role: str) -> OpenAIChatMessage:
        return cls(role, [])

    def add(self, segment: dict[str, Any]) -> OpenAIChatMessage:
        return self.batch_add([segment])

    def batch_add(self, segments: list[dict[str, Any]]) -> OpenAIChatMessage:
        self.content = [*self.content, *segments]
        return self

    def extend(self, other: OpenAIChatMessage) -> OpenAIChatMessage:
        return OpenAIChatMessage(self.role, [*self.content, *other.content])

    def tidy(self) -> OpenAIChatMessage:
        return OpenAIChatMessage(self.role, self.content)

    def to_dict(self) -> dict[str, Any]:
        return {'role': self.role, 'content': self.content}


class OpenAIResponse(SimpleNamespace):
    """An answer, with what it has used."""


async def gen_openai_chat_response(model: str, messages: Any, **options: Any) -> OpenAIResponse:
    """How the model samples and how long it may take is up to the agent. `chat_key`, which only Longshore has, names the conversation outside of a call.
    Raises an error with the reason when the model is not asked."""
    if options.get('base_url') or model not in (_MODEL, '', None):
        refuse('nekro_agent.services.agent.openai.gen_openai_chat_response with a model of its own')
    given = [message.to_dict() if isinstance(message, OpenAIChatMessage) else message for message in messages]
    question: dict[str, Any] = {'messages': messages_of(given), 'tools': []}
    most = options.get('max_tokens')
    if isinstance(most, (int, float)) and most >= 1:
        question['maxOutputTokens'] = int(most)
    began = time.monotonic()
    reply = await ask_model('model', question, conversation=options.get('chat_key'), named_by='chat_key')
    took = max(1, round((time.monotonic() - began) * 1000))
    used = reply['usage']
    return OpenAIResponse(
        response_content=reply['text'],
        thought_chain=reply['reasoning'],
        messages=given,
        message_cnt=len(given),
        token_input=used['inputTokens'],
        token_output=used['outputTokens'],
        token_consumption=used['inputTokens'] + used['outputTokens'],
        use_model=reply['model'],
        speed_tokens_per_second=used['outputTokens'] * 1000 / took,
        first_token_cost_ms=took,
        generation_time_ms=took,
        stream_mode=False,
        log_path=None,
    )
