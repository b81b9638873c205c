"""`ctx.llm`: questions to the model of the agent. A question that fails is a value, as MaiBot has it: plugins look at `success`."""

from __future__ import annotations

import json
from typing import Any

from longshore_host.questions import QuestionFailed, ask
from longshore_maibot.refused import CapabilityRefused

# The tasks for which MaiBot may have models of their own. Here the model of the agent does all of them.
_TASKS = ['replyer', 'planner', 'utils', 'tool_use']
_ROLES = {'system': 'system', 'developer': 'system', 'assistant': 'assistant'}


async def generate(args: dict[str, Any]) -> dict[str, Any]:
    return await _ask(args, [])


async def generate_with_tools(args: dict[str, Any]) -> dict[str, Any]:
    tools = args.get('tools') or args.get('tool_options') or []
    return await _ask(args, [_tool_of(tool) for tool in tools])


async def available_models(args: dict[str, Any]) -> dict[str, Any]:
    return {'success': True, 'models': [*_TASKS, await ask('model-name')]}


async def _ask(args: dict[str, Any], tools: list[dict[str, Any]]) -> dict[str, Any]:
    question: dict[str, Any] = {'messages': messages_of(args.get('prompt')), 'tools': tools}
    most = args.get('max_tokens')
    if isinstance(most, (int, float)) and most >= 1:
        question['maxOutputTokens'] = int(most)
    try:
        reply = await ask('model', question)
    except QuestionFailed as problem:
        return {'success': False, 'response': '', 'reasoning': '', 'model': '', 'model_name': '', 'tool_calls': [], 'error': str(problem)}
    used = reply['usage']
    calls = [{'id': call['id'], 'type': 'function', 'function': {'name': call['name'], 'arguments': call['arguments']}} for call in reply['calls']]
    return {
        'success': True,
        'response': reply['text'],
        'reasoning': reply['reasoning'],
        'model': reply['model'],
        'model_name': reply['model'],
        'tool_calls': calls,
        'prompt_tokens': used['inputTokens'],
        'completion_tokens': used['outputTokens'],
        'total_tokens': used['inputTokens'] + used['outputTokens'],
    }


def messages_of(prompt: Any) -> list[dict[str, str]]:
    """A prompt is a text, or messages as OpenAI has them, of which texts are supported."""
    if isinstance(prompt, str) and prompt.strip():
        return [{'role': 'user', 'text': prompt}]
    if isinstance(prompt, list) and prompt and all(isinstance(message, dict) for message in prompt):
        return [_message_of(message) for message in prompt]
    raise CapabilityRefused('llm: the prompt has to be a text or a list of messages, each with role and content')


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
            raise CapabilityRefused(f'llm: parts of the type {kind} are not supported; text is')
        return str(content.get('text', content.get('data', '')))
    return '' if content is None else str(content)


def _tool_of(tool: Any) -> dict[str, Any]:
    """A tool as OpenAI has it, or what stands under its `function`."""
    about = tool.get('function', tool) if isinstance(tool, dict) else None
    if not isinstance(about, dict) or not about.get('name'):
        raise CapabilityRefused('llm: each of the tools has to have a name, a description and parameters')
    schema = about.get('parameters_schema') or about.get('parameters')
    parameters = schema if isinstance(schema, dict) else {}
    return {'name': str(about['name']), 'description': str(about.get('description', '')), 'parameters': {'type': 'object', 'properties': {}, **parameters}}
