"""Types that several modules share. For the type checker only: nothing imports it when it runs."""

from __future__ import annotations

from typing import Any, Callable, Protocol, Union

Fields = dict[str, Any]
"""The checked fields of a request, and records of the protocol."""
Ids = tuple[int, int]
"""The numbers of a user and of its group."""
Environment = dict[bytes, bytes]
OnReady = Callable[[int], object]
"""Is given the events of a descriptor."""
Data = Union[bytes, bytearray, memoryview]
Pair = tuple[int, ...]
"""Bytes and inodes."""


class Handler(Protocol):
    """Of a channel. One that takes data also has `on_data(bytes)`."""

    def on_credit(self) -> None: ...

    def on_close(self) -> None: ...


class Source(Protocol):
    """An exec that can be followed: one that runs, or its journal."""

    @property
    def outputs(self) -> list[int]: ...

    @property
    def kept(self) -> list[int]: ...

    @property
    def exit(self) -> Fields | None: ...

    @property
    def paths(self) -> tuple[str, str]: ...

    def unfollow(self, follower: Any) -> None: ...
