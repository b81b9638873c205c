"""Questions to the model of the agent: during a call through its channel, and where nothing waits for the answer as tasks ask."""

from __future__ import annotations

from typing import Any

from longshore_host.calls import current
from longshore_host.questions import QuestionFailed, ask, has_channel
from longshore_host.tasks import tasks

_NOT_NAMED = 'the model is asked for a conversation, whose budget counts it, and none is known here'


async def ask_model(what: str, *args: Any, conversation: Any, named_by: str) -> Any:
    """`conversation` is what the plugin says, by the argument `named_by`. A task that a call has started may leave it out. Raises `QuestionFailed`."""
    call = current.get()
    known = '' if call is None else call.conversation_id
    named = str(conversation or '')
    if call is not None and not call.over and named not in ('', known):
        raise QuestionFailed(f'the conversation {named} is not the one of this call')
    if has_channel():
        return await ask(what, *args)
    if not (named or known):
        raise QuestionFailed(f'{_NOT_NAMED}: outside of a call, name it with {named_by}=')
    return await tasks.ask(what, named or known, *args)
