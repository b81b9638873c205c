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


class Body(Protocol):
    """What runs an exec: the processes of a command, or a request to a server."""

    @property
    def may_write(self) -> bool:
        """False when it was started without room for its files."""

    @property
    def due(self) -> float | None:
        """The active time at which `on_due` has to be called."""

    @property
    def status(self) -> int | None:
        """The wait status, once it has ended."""

    @property
    def problem(self) -> str | None:
        """Why nothing was executed."""

    @property
    def gone(self) -> bool:
        """True when nothing of it is left."""

    @property
    def is_empty(self) -> bool:
        """True when nothing of it runs."""

    def begin(self, outputs: Any, stdin: Any, on_change: Callable[[], object]) -> None:
        """Passes on what it writes and what it is given. `on_change` is called after each change of `status`, `problem` and `gone`, and never by this."""

    def signal(self, number: int) -> int:
        """Returns how many processes there were to signal."""

    def hold_still(self) -> list[int]:
        """Stops its processes; returns those that it stopped."""

    def on_due(self, now: float) -> None: ...
