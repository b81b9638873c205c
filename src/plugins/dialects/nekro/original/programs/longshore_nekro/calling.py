"""The call of a method that is in progress: who calls, which files it has, what it gives to the conversation."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Any, TypedDict

from longshore_host.calls import Call, current
from longshore_nekro.refused import NotSupported

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_KEPT_DAYS = 7


class KnownTimer(TypedDict):
    id: str
    # Seconds since 1970.
    due: int
    text: str
    temporary: bool


class _CallerWithTimers(TypedDict, total=False):
    # Those of the conversation that wait; absent for a plugin that uses none.
    timers: list[KnownTimer]


class Caller(_CallerWithTimers):
    chat_key: str
    user_id: str
    agent_id: str
    # Files of the conversation's sandbox that were brought here, by their paths there.
    files: Mapping[str, str]
    # The directory there that gets what is forwarded.
    directory: str
    # Where what belongs to this call is kept here.
    place: str


class MethodCall(Call):
    def __init__(self, caller: Caller) -> None:
        super().__init__(caller['chat_key'])
        self.caller = caller
        self.notes: list[dict[str, Any]] = []
        # The names in the conversation's sandbox, and the files here.
        self.forwarded: dict[str, Path] = {}
        # As they are after the changes of this call.
        self.timers: list[KnownTimer] = list(caller.get('timers') or [])
        self.timer_changes: list[dict[str, Any]] = []
        # It only tells something: what it gives to the conversation has no way there.
        self.only_tells = False

    def answer(self) -> dict[str, Any]:
        files = [{'name': name, 'path': str(path)} for name, path in self.forwarded.items()]
        return {'sent': self.sent, 'notes': self.notes, 'files': files, 'timers': self.timer_changes}


def is_in_call() -> bool:
    call = current.get()
    return isinstance(call, MethodCall) and not call.over


def call_in_progress(what: str) -> MethodCall:
    call = current.get()
    if not isinstance(call, MethodCall) or call.over:
        raise NotSupported(f'{what} works only during a call of a method')
    return call


def caller_of(call: Call) -> Caller:
    if not isinstance(call, MethodCall):
        raise NotSupported('there is no call of a method')
    return call.caller


def of_this_conversation(chat_key: str, what: str) -> MethodCall:
    call = call_in_progress(what)
    if chat_key not in ('', call.conversation_id):
        raise NotSupported(f'{what}: the conversation "{chat_key}" is not the one of this call, which is "{call.conversation_id}"')
    return call


def call_or_task(chat_key: str, what: str) -> MethodCall | None:
    """The call in progress, whose conversation this has to be; None in a task, which names any conversation."""
    if is_in_call():
        return of_this_conversation(chat_key, what)
    if chat_key == '':
        raise NotSupported(f'{what} needs the chat_key of a conversation outside of a call')
    return None


def forget_old_calls(place: Path) -> None:
    """Removes files of calls that were answered long ago. A worker that was away for some time may still fetch those of newer ones."""
    for directory in place.iterdir() if place.is_dir() else ():
        if time.time() - directory.stat().st_mtime > _KEPT_DAYS * 86_400:
            shutil.rmtree(directory, ignore_errors=True)
