"""`ctx.llm`: questions to the model of the agent. A question that fails is a value, as MaiBot has it: plugins look at `success`."""

from __future__ import annotations

from typing import Any

from longshore_host.model import ask_model
from longshore_host.prompts import PromptRefused, messages_of
from longshore_host.questions import QuestionFailed
from longshore_maibot.refused import CapabilityRefused

# The tasks for which MaiBot may have models of their own. Here the model of the agent does all of them.
_TASKS = ['replyer', 'planner', 'utils', 'tool_use']


async def generate(args: dict[str, Any]) -> dict[str, Any]:
    return await _ask(args, [])


async def generate_with_tools(args: dict[str, Any]) -> dict[str, Any]:
    tools = args.get('tools') or args.get('tool_options') or []
    return await _ask(args, [_tool_of(tool) for tool in tools])


async def available_models(args: dict[str, Any]) -> dict[str, Any]:
    return {'success': True, 'models': [*_TASKS, await _asked(args, 'model-name')]}


async def _asked(args: dict[str, Any], what: str, *given: Any) -> Any:
    return await ask_model(what, *given, conversation=args.get('stream_id') or args.get('chat_id'), named_by='stream_id')


async def _ask(args: dict[str, Any], tools: list[dict[str, Any]]) -> dict[str, Any]:
    try:
        question: dict[str, Any] = {'messages': messages_of(args.get('prompt')), 'tools': tools}
    except PromptRefused as problem:
        raise CapabilityRefused(f'llm: {problem}') from problem
    most = args.get('max_tokens')
    if isinstance(most, (int, float)) and most >= 1:
        question['maxOutputTokens'] = int(most)
    try:
        reply = await _asked(args, 'model', question)
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


def _tool_of(tool: Any) -> dict[str, Any]:
    """A tool as OpenAI has it, or what stands under its `function`."""
    about = tool.get('function', tool) if isinstance(tool, dict) else None
    if not isinstance(about, dict) or not about.get('name'):
        raise CapabilityRefused('llm: each of the tools has to have a name, a description and parameters')
    schema = about.get('parameters_schema') or about.get('parameters')
    parameters = schema if isinstance(schema, dict) else {}
    return {'name': str(about['name']), 'description': str(about.get('description', '')), 'parameters': {'type': 'object', 'properties': {}, **parameters}}
