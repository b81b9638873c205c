"""The two sides of a checkpoint: the home is read and written as its user, the store as root. Only the effective id changes, as in all work on files."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class AsRoot:
    """Within it, this process has the rights of the supervisor; the guest can neither read nor change the store."""

    def __init__(self) -> None:
        self._guest = os.geteuid()
        self._root = os.getuid()

    def __enter__(self) -> None:
        if self._root != self._guest:
            os.seteuid(self._root)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._root != self._guest:
            os.seteuid(self._guest)
