"""Event handlers, for the events that there are here: the start of the plugin's process and its end."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import Any, Callable

from longshore_host.apart import apart
from longshore_host.tasks import tasks
from longshore_maibot.hooks import name_of

START = 'on_start'
STOP = 'on_stop'
_running: set[asyncio.Future[Any]] = set()
"""The loop itself keeps no task."""


async def tell(handlers: list[tuple[dict[str, Any], Callable[..., Any]]], event: str) -> None:
    """Runs the handlers of an event, those with more weight first. One that does not intercept the event is not waited for, unless the process ends."""
    of_event = [(about, handle) for about, handle in handlers if name_of(about) == event]
    for about, handle in sorted(of_event, key=lambda pair: -_weight_of(pair[0])):
        is_waited_for = bool(about.get('intercept_message')) or event == STOP
        running = asyncio.ensure_future(_run(handle, event, is_waited_for))
        if is_waited_for:
            await running
        else:
            _running.add(running)
            running.add_done_callback(_running.discard)


async def _run(handle: Callable[..., Any], event: str, is_waited_for: bool) -> None:
    try:
        given = {'event_type': event, 'message': None}
        parameters = inspect.signature(handle).parameters
        takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
        result = handle(**{name: value for name, value in given.items() if takes_all or name in parameters})
        if inspect.isawaitable(result):
            await apart(tasks.while_loading(result) if is_waited_for and event == START else result)
    # Code of a stranger may raise anything, also to end the process.
    except (Exception, SystemExit):
        logging.exception('a handler of the event %s failed', event)


def _weight_of(about: dict[str, Any]) -> float:
    weight = about.get('weight')
    return weight if isinstance(weight, (int, float)) else 0
