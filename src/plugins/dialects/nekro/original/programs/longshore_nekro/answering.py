"""Runs a command, and collects its answers."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from longshore_nekro.commands import ArgumentsRefused, arguments_of
from longshore_nekro.context import Messages
from longshore_nekro.parts import CommandExecutionContext, CommandOutputSegmentType

if TYPE_CHECKING:
    from longshore_nekro.calling import MethodCall
    from longshore_nekro.command_types import Command


async def answer_of(command: Command, text: str, call: MethodCall) -> tuple[bool, str]:
    """A command returns one answer, or gives several one after the other."""
    user = call.caller['user_id']
    context = CommandExecutionContext(user_id=user, username=user, chat_key=call.conversation_id, adapter_key='longshore')
    try:
        given = arguments_of(command, text)
    except ArgumentsRefused as problem:
        return False, str(problem)
    result = command.func(context, **given)
    if inspect.isasyncgen(result):
        answers = [answer async for answer in result]
    else:
        answers = [await result if inspect.isawaitable(result) else result]
    texts = [await _text_of(answer, call) for answer in answers]
    succeeded = all(getattr(answer, 'status', 'success') != 'error' for answer in answers)
    return succeeded, '\n'.join(filter(None, texts))


async def _text_of(answer: Any, call: MethodCall) -> str:
    """The texts of an answer. What else it has is sent."""
    if answer is None or isinstance(answer, str):
        return answer or ''
    texts = [str(answer.message)]
    for segment in answer.output_segments or []:
        if segment.file_path is None:
            texts.append(str(segment.text))
        elif segment.type == CommandOutputSegmentType.IMAGE:
            await Messages.send_image(call.conversation_id, segment.file_path)
        else:
            await Messages.send_file(call.conversation_id, segment.file_path)
    if answer.wait_options:
        texts.append(' / '.join(map(str, answer.wait_options)))
    return '\n'.join(filter(None, texts))
