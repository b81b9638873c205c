"""Rules of what tasks of a plugin ask a worker outside of calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from longshore_host.questions import QuestionFailed
from longshore_host.tasks import Tasks

if TYPE_CHECKING:
    from pathlib import Path


def run(work: Any) -> Any:
    return asyncio.run(work)


async def asked(tasks: Tasks, *questions: tuple[str, str]) -> list[asyncio.Task[Any]]:
    begun = [asyncio.ensure_future(tasks.ask(*question)) for question in questions]
    await asyncio.sleep(0)
    return begun


def test_a_question_is_given_until_it_is_answered_and_a_file_says_so(tmp_path: Path) -> None:
    mark = tmp_path / 'asks'
    tasks = Tasks(str(mark))

    async def work() -> None:
        begun = await asked(tasks, ('send', 'a'), ('send', 'b'))
        first, second = tasks.exchange({})['questions']
        assert (first['what'], first['args'], second['args'], mark.exists()) == ('send', ['a'], ['b'], True)
        # A worker that fetched them has died.
        assert tasks.exchange({})['questions'] == [first, second]
        assert tasks.exchange({first['id']: {'ok': True}})['questions'] == [second]
        assert tasks.exchange({second['id']: {'error': 'it is closed'}, first['id']: {'ok': False}, 'unknown': {'ok': 1}}) == {'questions': []}
        assert not mark.exists()
        assert await begun[0] is True
        with pytest.raises(QuestionFailed, match=r'^it is closed$'):
            await begun[1]

    run(work())


def test_a_thread_with_a_loop_of_its_own_is_answered_too(tmp_path: Path) -> None:
    mark = tmp_path / 'asks'
    tasks = Tasks(str(mark))

    async def work() -> None:
        asking = asyncio.ensure_future(asyncio.to_thread(lambda: asyncio.run(tasks.ask('send', 'a'))))
        while not mark.exists():
            await asyncio.sleep(0.001)
        (question,) = tasks.exchange({})['questions']
        tasks.exchange({question['id']: {'ok': 'done'}})
        assert await asking == 'done'

    run(work())


def test_a_process_begins_without_the_file_of_an_earlier_one(tmp_path: Path) -> None:
    mark = tmp_path / 'asks'
    mark.write_text('')

    async def work() -> None:
        Tasks().begin(str(mark))

    run(work())
    assert not mark.exists()


def test_a_question_that_nobody_answers_fails_and_is_withdrawn(tmp_path: Path) -> None:
    mark = tmp_path / 'asks'
    tasks = Tasks(str(mark), patience=0.01)
    with pytest.raises(QuestionFailed, match=r'^no worker has answered within 0.01 seconds; it may have been done$'):
        run(tasks.ask('send', 'a'))
    assert (tasks.exchange({}), mark.exists()) == ({'questions': []}, False)


def test_a_question_of_a_task_that_is_cancelled_is_withdrawn(tmp_path: Path) -> None:
    tasks = Tasks(str(tmp_path / 'asks'))

    async def work() -> None:
        (begun,) = await asked(tasks, ('send', 'a'))
        begun.cancel()
        await asyncio.wait([begun])
        assert tasks.exchange({}) == {'questions': []}

    run(work())


def test_large_questions_and_too_many_are_refused_and_a_message_holds_as_many_as_it_can(tmp_path: Path) -> None:
    tasks = Tasks(str(tmp_path / 'asks'))

    async def work() -> None:
        with pytest.raises(QuestionFailed, match=r'^this has 1000\d{3} bytes; at most 1000000 are allowed outside of a call$'):
            await tasks.ask('send', 'a' * 1_000_000)
        begun = await asked(tasks, *[('send', 'a' * 900_000)] * 6, *[('send', 'b')] * 94)
        with pytest.raises(QuestionFailed, match=r'^100 others of this plugin wait for a worker, which is the limit; wait for their results$'):
            await tasks.ask('send', 'c')
        answers: dict[str, Any] = {}
        sizes = []
        while given := tasks.exchange(answers)['questions']:
            sizes.append(len(given))
            answers = {question['id']: {'ok': None} for question in given}
        assert sizes == [4, 96]
        await asyncio.gather(*begun)

    run(work())


def test_what_loads_the_plugin_asks_nothing_but_the_tasks_that_it_starts_do(tmp_path: Path) -> None:
    tasks = Tasks()
    with pytest.raises(QuestionFailed, match=r'^there is no worker here$'):
        run(tasks.ask('send', 'a'))

    async def work() -> None:
        tasks.begin(str(tmp_path / 'asks'))
        with pytest.raises(QuestionFailed, match=r'^the plugin is still being loaded; do this in a task that it starts \(asyncio.create_task\)$'):
            await tasks.ask('send', 'a')
        (begun,) = await asked(tasks, ('send', 'b'))
        tasks.end_loading()
        (question,) = tasks.exchange({})['questions']
        tasks.exchange({question['id']: {'ok': 1}})
        assert await begun == 1

    run(work())
