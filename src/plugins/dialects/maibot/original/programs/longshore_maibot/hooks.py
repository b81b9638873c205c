"""Handlers of hooks and events: what a plugin does with the messages, prompts and answers of a conversation. `run` is given a value, and returns what the
handlers have made of it. The values are those of Longshore; `shown.py` shows them to handlers as MaiBot has them."""

from __future__ import annotations

import asyncio
import copy
import inspect
import logging
from typing import TYPE_CHECKING, Any, Callable

from longshore_host.apart import apart
from longshore_maibot import shown
from longshore_maibot.commands import option_of

if TYPE_CHECKING:
    from longshore_host.calls import Call

BEGINNING = 'hook:'
"""Of the name under which handlers are called; the point follows."""

Handler = Callable[..., Any]

# The points of a conversation, and the hooks and events of MaiBot that are called at each of them, in this order.
POINTS: dict[str, tuple[str, ...]] = {
    'received': ('chat.receive.before_process', 'chat.receive.after_process', 'on_message_pre_process', 'on_message'),
    'asking': ('maisaka.planner.before_request', 'maisaka.replyer.before_request', 'maisaka.replyer.before_model_request'),
    'answered': ('maisaka.planner.after_response', 'maisaka.replyer.after_response', 'post_llm', 'after_llm'),
    'sending': ('send_service.after_build_message', 'post_send_pre_process', 'send_service.before_send'),
    'sent': ('send_service.after_send', 'post_send', 'after_send'),
}
_POINT_OF = {name: point for point, names in POINTS.items() for name in names}
_STOPPABLE = ('received', 'sending')
_INSTEAD = {
    'chat': 'the rules of approval of an agent say which commands run',
    'on_plan': 'use the hook maisaka.planner.before_request, which is called before each request to the model',
}
_OTHERWISE = 'it belongs to a bot of MaiBot, and there is none'
_SLOTS = {'early': 0, 'normal': 1, 'late': 2}
_TIMEOUT_MS = 10_000
_LONGEST_MS = 25_000
_observing: set[asyncio.Future[Any]] = set()
"""The loop itself keeps no task."""


def described(name: str, kind: str, about: dict[str, Any]) -> dict[str, Any]:
    """`point` is None for a handler that no conversation has a use for, and `refusal` says why."""
    of = name_of(about)
    point = _POINT_OF.get(of)
    blocking = is_blocking(kind, about)
    if kind == 'HOOK_HANDLER':
        rank: list[float] = [0, _SLOTS.get(_value_of(about.get('order')), 1), 0]
    else:
        weight = about.get('weight')
        rank = [0, 0, -weight if isinstance(weight, (int, float)) else 0]
    return {
        'name': name,
        'kind': kind,
        'of': of[:200],
        'point': point,
        'refusal': None if point else _INSTEAD.get(of, _INSTEAD.get(of.split('.')[0], _OTHERWISE)),
        'order': [0 if point is None else POINTS[point].index(of), 0 if blocking else 1, *rank[1:]],
        'stopsOnFailure': blocking and point in _STOPPABLE and _value_of(about.get('error_policy')) == 'abort',
    }


def name_of(about: dict[str, Any]) -> str:
    """Of the hook or event that a handler is for."""
    return _value_of(about.get('hook') or about.get('event_type'))


def is_blocking(kind: str, about: dict[str, Any]) -> bool:
    """A handler that observes is not waited for, and what it returns does not count. Nothing waits for what comes after a message was sent."""
    if _POINT_OF.get(name_of(about)) == 'sent':
        return False
    return _value_of(about.get('mode')) != 'observe' if kind == 'HOOK_HANDLER' else bool(about.get('intercept_message'))


async def run(
    point: str,
    handlers: list[tuple[str, dict[str, Any], Handler]],
    value: dict[str, Any],
    caller: dict[str, Any],
    call: Call,
) -> dict[str, Any]:
    """Runs handlers in the order in which they are given, each with what the ones before it have made of the value."""
    for kind, about, handle in handlers:
        of = name_of(about)
        given = shown.KINDS[point].show(value, call, of)
        given = {**caller, **given, **({'hook_name': of} if kind == 'HOOK_HANDLER' else {'event_type': of})}
        # A copy: handlers may change what they are given, and return it or not.
        running = asyncio.ensure_future(apart(_run(handle, copy.deepcopy(given))))
        if not is_blocking(kind, about):
            _observing.add(running)
            running.add_done_callback(_ended)
            continue
        try:
            answer = await asyncio.wait_for(running, _timeout_of(about))
            value = shown.KINDS[point].changed(value, answer, given)
        except Exception:
            logging.exception('the handler of %s failed', of)
            if point in _STOPPABLE and _value_of(about.get('error_policy')) == 'abort':
                return {'value': value, 'stopped': True}
            continue
        if point in _STOPPABLE and _stops(answer):
            return {'value': value, 'stopped': True}
    return {'value': value, 'stopped': False}


def _stops(answer: Any) -> bool:
    if not isinstance(answer, dict):
        return False
    return answer.get('action') == 'abort' or answer.get('blocked') is True or answer.get('continue_processing') is False


async def _run(handle: Handler, given: dict[str, Any]) -> Any:
    parameters = inspect.signature(handle).parameters
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    try:
        result = handle(**{name: value for name, value in given.items() if takes_all or name in parameters})
        return await result if inspect.isawaitable(result) else result
    # It would end the process from within a task.
    except SystemExit as problem:
        raise RuntimeError(f'it wanted to end the process: {problem}') from problem


def _ended(running: asyncio.Future[Any]) -> None:
    _observing.discard(running)
    if not running.cancelled() and running.exception() is not None:
        logging.error('a handler that observes failed', exc_info=running.exception())


def _timeout_of(about: dict[str, Any]) -> float:
    timeout = option_of(about, 'timeout_ms')
    given = timeout if isinstance(timeout, (int, float)) and timeout > 0 else _TIMEOUT_MS
    return min(given, _LONGEST_MS) / 1000


def _value_of(given: Any) -> str:
    return str(getattr(given, 'value', given) or '')
