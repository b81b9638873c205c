"""The cores of standard modules: `signal` and `socket` themselves load enumerations, which take as long as much of the supervisor's start. Where a Python has
no such core, the module itself is used."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket as socket
    import signal
else:
    try:
        import _signal as signal
    except ImportError:
        import signal
    try:
        import _socket as socket
    except ImportError:
        import socket

__all__ = ['accept', 'signal', 'socket']


def accept(listener: socket.socket) -> int:
    """The descriptor of the next connection."""
    if hasattr(listener, '_accept'):
        return int(listener._accept()[0])
    return int(listener.accept()[0].detach())  # type: ignore[attr-defined]
