"""Rules of code of strangers: whatever it raises, its caller gets an answer, and only a caller that was cancelled is cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from longshore_host.apart import Raised, apart, text_of


class Panic(BaseException):
    """As libraries in Rust raise it."""


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError('no text')


async def raising(problem: BaseException) -> None:
    raise problem


async def waits_for_what_it_has_cancelled() -> None:
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


def test_what_the_work_returns_is_returned() -> None:
    async def work() -> int:
        return 7

    assert asyncio.run(apart(work())) == 7


@pytest.mark.parametrize(
    ('work', 'kind', 'text'),
    [
        (lambda: raising(ValueError('odd')), ValueError, '^odd$'),
        (lambda: raising(SystemExit('bye')), SystemExit, '^bye$'),
        (lambda: raising(KeyboardInterrupt()), Raised, '^KeyboardInterrupt: $'),
        (lambda: raising(Panic('no room')), Raised, '^Panic: no room$'),
        (lambda: raising(asyncio.CancelledError()), Raised, '^CancelledError: it was cancelled by its own code'),
        (waits_for_what_it_has_cancelled, Raised, '^CancelledError: it was cancelled by its own code'),
    ],
)
def test_whatever_it_raises_reaches_the_caller(work: Any, kind: type[BaseException], text: str) -> None:
    with pytest.raises(kind, match=text):
        asyncio.run(apart(work()))


def test_a_caller_that_is_cancelled_waits_for_the_work_to_clean_up() -> None:
    done: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            done.append('cleaned up')

    async def work() -> None:
        calling = asyncio.ensure_future(apart(slow()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

    asyncio.run(work())
    assert done == ['cleaned up']


def test_an_error_without_a_text_has_its_kind() -> None:
    assert (text_of(Mute()), text_of(KeyError('a')), text_of(Raised('Panic: no room'))) == ('Mute', "KeyError: 'a'", 'Panic: no room')
