"""Prompts for the model of the agent, as plugins write them."""

from __future__ import annotations

import json
from typing import Any

_ROLES = {'system': 'system', 'developer': 'system', 'assistant': 'assistant'}


class PromptRefused(ValueError):
    pass


def messages_of(prompt: Any) -> list[dict[str, str]]:
    """A prompt is a text, or messages as OpenAI has them, of which texts are supported."""
    if isinstance(prompt, str) and prompt.strip():
        return [{'role': 'user', 'text': prompt}]
    if isinstance(prompt, list) and prompt and all(isinstance(message, dict) for message in prompt):
        return [_message_of(message) for message in prompt]
    raise PromptRefused('the prompt has to be a text or a list of messages, each with role and content')


def _message_of(message: dict[str, Any]) -> dict[str, str]:
    role = str(message.get('role', 'user'))
    text = _text_of(message.get('content'))
    if role == 'tool':
        return {'role': 'user', 'text': f'Result of {message.get("tool_call_id") or "the call"}: {text}'}
    calls = message.get('tool_calls')
    if calls:
        text = '\n'.join(filter(None, [text, f'Calls: {json.dumps(calls, ensure_ascii=False, default=str)}']))
    return {'role': _ROLES.get(role, 'user'), 'text': text}


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return '\n'.join(_text_of(part) for part in content)
    if isinstance(content, dict):
        kind = content.get('type', 'text')
        if kind != 'text':
            raise PromptRefused(f'parts of the type {kind} are not supported; text is')
        return str(content.get('text', content.get('data', '')))
    return '' if content is None else str(content)
