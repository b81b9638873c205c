"""Questions to a worker outside of calls, such as those of tasks that go on when their call has ended. A question waits here until a worker fetches it, and is
given again until it is answered: its id says that it is the same one. A file says that questions wait, since workers see files without a request."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

from longshore_host.questions import LARGEST, QuestionFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable

_MOST = 100
_MOST_BYTES = 4_000_000
_PATIENCE = 300.0


class Tasks:
    def __init__(self, mark: str | None = None, patience: float = _PATIENCE) -> None:
        # Absent where no worker looks.
        self._mark = mark
        self._patience = patience
        # A worker gets no answer before the plugin is loaded, for which these are waited for.
        self._loading: set[asyncio.Task[Any] | None] = set()
        self._waiting: dict[str, tuple[dict[str, Any], asyncio.Future[Any]]] = {}

    def begin(self, mark: str) -> None:
        """Takes questions from now on. What an earlier process has left says nothing. The task that calls this loads the plugin."""
        self._mark = mark
        self._loading = {asyncio.current_task()}
        self._show()

    async def while_loading(self, work: Awaitable[Any]) -> Any:
        """Work in a task of its own, for which the task that loads the plugin waits."""
        self._loading.add(asyncio.current_task())
        return await work

    def end_loading(self) -> None:
        self._loading.clear()

    async def ask(self, what: str, *args: Any) -> Any:
        """Asks a worker. Raises `QuestionFailed` with its reason."""
        if self._mark is None:
            raise QuestionFailed('there is no worker here')
        if asyncio.current_task() in self._loading:
            raise QuestionFailed('the plugin is still being loaded; do this in a task that it starts (asyncio.create_task)')
        question: dict[str, Any] = {'id': os.urandom(16).hex(), 'what': what, 'args': list(args)}
        size = _size_of(question)
        if size > LARGEST:
            raise QuestionFailed(f'this has {size} bytes; at most {LARGEST} are allowed outside of a call')
        if len(self._waiting) >= _MOST:
            raise QuestionFailed(f'{_MOST} others of this plugin wait for a worker, which is the limit; wait for their results')
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[question['id']] = (question, answered)
        self._show()
        try:
            return await asyncio.wait_for(answered, self._patience)
        except asyncio.TimeoutError as problem:
            raise QuestionFailed(f'no worker has answered within {self._patience:g} seconds; it may have been done') from problem
        finally:
            self._waiting.pop(question['id'], None)
            self._show()

    def exchange(self, answers: dict[str, Any]) -> dict[str, Any]:
        """Takes answers, and gives the questions that wait, oldest first, as many as a message can hold."""
        for question_id, answer in answers.items():
            _, answered = self._waiting.pop(question_id, (None, None))
            # A plugin may have loops of its own in threads.
            if answered is not None:
                answered.get_loop().call_soon_threadsafe(_settle, answered, answer)
        self._show()
        given: list[dict[str, Any]] = []
        size = 0
        for question, _ in tuple(self._waiting.values()):
            size += _size_of(question)
            if given and size > _MOST_BYTES:
                break
            given.append(question)
        return {'questions': given}

    def _show(self) -> None:
        if self._mark is None:
            return
        if not self._waiting:
            try:
                os.unlink(self._mark)
            except FileNotFoundError:
                pass
        elif not os.path.exists(self._mark):
            with open(self._mark, 'w', encoding='utf-8'):
                pass


def _settle(answered: asyncio.Future[Any], answer: dict[str, Any]) -> None:
    if answered.done():
        return
    if 'error' in answer:
        answered.set_exception(QuestionFailed(str(answer['error'])))
    else:
        answered.set_result(answer.get('ok'))


def _size_of(question: dict[str, Any]) -> int:
    return len(json.dumps(question, ensure_ascii=False, allow_nan=False).encode('utf-8', 'replace'))


tasks = Tasks()
