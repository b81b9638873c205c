"""`nekro_agent.api.timer`. Timers wait in the database of Longshore, so they outlive this process. What a call changes takes effect when it has its answer."""

from __future__ import annotations

import time
from typing import Any

from longshore_host.tasks import tasks
from longshore_nekro.calling import KnownTimer, MethodCall, call_or_task
from longshore_nekro.refused import NotSupported

MOST = 100
_LONGEST = 4_000
_FARTHEST = 10 * 365 * 86_400


class TimerTask:
    def __init__(self, chat_key: str, trigger_time: int, event_desc: str, task_id: str = '', temporary: bool = False) -> None:
        self.task_id = task_id
        self.chat_key = chat_key
        self.trigger_time = trigger_time
        self.event_desc = event_desc
        self.temporary = temporary


async def set_timer(chat_key: str, trigger_time: int, event_desc: str, *_: Any, **__: Any) -> bool:
    return await _set(chat_key, trigger_time, event_desc, temporary=False)


async def set_temp_timer(chat_key: str, trigger_time: int, event_desc: str, *_: Any, **__: Any) -> bool:
    """A conversation has one such timer: another one replaces it."""
    return await _set(chat_key, trigger_time, event_desc, temporary=True)


async def clear_timers(chat_key: str, temporary: bool | None = None) -> bool:
    call = _changing(chat_key, 'clear_timers')
    if call is None:
        await tasks.ask('clear-timers', chat_key, {} if temporary is None else {'temporary': bool(temporary)})
        return True
    cleared = [timer for timer in call.timers if temporary is None or timer['temporary'] == bool(temporary)]
    if cleared:
        # By their ids: when it is repeated, those that were set meanwhile stay.
        call.timer_changes.append({'clear': [timer['id'] for timer in cleared]})
        call.timers = [timer for timer in call.timers if timer not in cleared]
    return True


async def get_timers(chat_key: str) -> list[TimerTask]:
    call = call_or_task(chat_key, 'get_timers')
    known: list[KnownTimer] = await tasks.ask('timers', chat_key) if call is None else call.timers
    of = chat_key if call is None else call.conversation_id
    return [TimerTask(of, timer['due'], timer['text'], timer['id'], timer['temporary']) for timer in sorted(known, key=lambda timer: timer['due'])]


async def _set(chat_key: str, trigger_time: int, event_desc: str, temporary: bool) -> bool:
    """False for a time that has passed, or is too far away. 0: now. Below: clears the timers of the conversation, as the original does."""
    if not isinstance(trigger_time, int):
        raise TypeError(f'trigger_time is a whole number of seconds since 1970, not a {type(trigger_time).__name__}')
    if trigger_time < 0:
        return await clear_timers(chat_key)
    now = int(time.time())
    if 0 < trigger_time <= now or trigger_time > now + _FARTHEST:
        return False
    text = str(event_desc)
    if len(text) > _LONGEST:
        raise ValueError(f'event_desc has {len(text)} characters; at most {_LONGEST} are allowed')
    due = trigger_time or now
    call = _changing(chat_key, 'set_timer')
    if call is None:
        await tasks.ask('set-timer', chat_key, {'due': due, 'text': text, 'temporary': temporary})
        return True
    others = [timer for timer in call.timers if not (temporary and timer['temporary'])]
    if len(others) >= MOST:
        raise ValueError(f'{MOST} timers of this plugin wait in this conversation, which is the limit; clear some')
    timer: KnownTimer = {'id': f'+{len(call.timer_changes)}', 'due': due, 'text': text, 'temporary': temporary}
    call.timer_changes.append({'set': timer})
    call.timers = [*others, timer]
    return True


def _changing(chat_key: str, what: str) -> MethodCall | None:
    call = call_or_task(chat_key, what)
    if call is not None and call.only_tells:
        raise NotSupported(f'{what} works in methods, commands and tasks, and not where a plugin says what it adds to a step')
    return call
