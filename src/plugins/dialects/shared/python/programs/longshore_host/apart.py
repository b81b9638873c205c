"""Runs code of a stranger in a task of its own. It may raise anything, also what is no `Exception`: a request without an answer would be waited for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable

_CANCELLED = 'CancelledError: it was cancelled by its own code, as when that waits for a task that it has cancelled'


class Raised(RuntimeError):
    """Stands for what is no `Exception`. Its text begins with the kind of that."""


async def apart(work: Awaitable[Any]) -> Any:
    """What the work returns. What it raises becomes an `Exception`, except an end that it wants (`SystemExit`). A `CancelledError` means that the caller was
    cancelled, and never that the work has raised one."""
    running = asyncio.ensure_future(_outcome_of(work))
    try:
        await asyncio.wait([running])
    except asyncio.CancelledError:
        running.cancel()
        await asyncio.wait([running])
        raise
    if running.cancelled():
        raise Raised(_CANCELLED)
    value, problem = running.result()
    if problem is None:
        return value
    if isinstance(problem, (Exception, SystemExit)):
        raise problem
    raise Raised(text_of(problem)) from problem


async def _outcome_of(work: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    try:
        return await work, None
    except asyncio.CancelledError:
        raise
    # From within a task, some of these would end the process.
    except BaseException as problem:
        return None, problem


def text_of(problem: BaseException) -> str:
    try:
        return str(problem) if isinstance(problem, Raised) else f'{type(problem).__name__}: {problem}'
    # Its own method makes its text.
    except Exception:
        return type(problem).__name__
