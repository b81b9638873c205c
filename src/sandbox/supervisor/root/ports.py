"""Connections of the worker to programs of the guest that listen on a port of the container's loopback."""

from __future__ import annotations

import errno
import os

from root.loop import WRITE
from root.tunnel import Tunnel
from shared.lean_modules import socket
from shared.protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from root.connection import Channel
    from root.loop import Loop
    from shared.shapes import Fields

# Connections of all workers together, also those that are being made.
_OPEN = 256
# "localhost" is either of them, and many programs listen on one alone. Few containers have the second.
_LOOPBACK = ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1'))


class Ports:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._open: set[object] = set()

    def connect(self, channel: Channel, fields: Fields, own_port: int) -> None:
        """`own_port`: where the supervisor itself listens for the guest's egress, or 0."""
        if fields['port'] == own_port:
            raise Refused('PORT_CLOSED', 'the sandbox uses this port itself')
        if len(self._open) >= _OPEN:
            raise Refused('PORT_CLOSED', f'the sandbox has {_OPEN} such connections, as many as it may')
        _Dial(self, channel, fields['port']).begin()

    def enter(self, connection: object) -> None:
        self._open.add(connection)

    def leave(self, connection: object) -> None:
        self._open.discard(connection)

    @property
    def loop(self) -> Loop:
        return self._loop


class _Dial:
    """A connection that is being made. The worker ends it by closing the channel. It takes no data yet."""

    def __init__(self, ports: Ports, channel: Channel, port: int) -> None:
        self._ports = ports
        self._channel = channel
        self._port = port
        self._left = list(_LOOPBACK)
        self._socket: socket.socket | None = None
        self._waiting = False
        self._problem = 0
        """The first failure."""

    def begin(self) -> None:
        self._channel.handler = self
        self._ports.enter(self)
        self._try_next()

    def on_credit(self) -> None:
        pass

    def on_close(self) -> None:
        self._give_up()

    def _try_next(self) -> None:
        while self._left:
            family, address = self._left.pop(0)
            try:
                made = self._socket = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
                number = made.connect_ex((address, self._port))
            except OSError as error:
                number = error.errno or errno.EIO
            if number == errno.EINPROGRESS:
                self._waiting = True
                self._ports.loop.add(made.fileno(), WRITE, self._on_ready)
                return
            if number == 0:
                if self._finish():
                    return
                number = errno.ECONNREFUSED
            self._close()
            self._problem = self._problem or number
        self._give_up()
        self._channel.fail('PORT_CLOSED', 'nothing listens there' if self._problem == errno.ECONNREFUSED else os.strerror(self._problem))

    def _on_ready(self, mask: int) -> None:
        made = self._socket
        if made is None:
            return
        self._stop_waiting(made)
        number = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number == 0 and self._finish():
            return
        self._problem = self._problem or number or errno.ECONNREFUSED
        self._close()
        self._try_next()

    def _finish(self) -> bool:
        made = self._socket
        # A connection to a free port may get this very port as its own, and then is connected to itself.
        if made is None or _is_own(made):
            return False
        self._socket = None
        self._ports.leave(self)
        tunnel = Tunnel(made, self._ports.loop, 0.0)
        self._ports.enter(tunnel)
        tunnel.open(self._channel, self._ports.leave)
        return True

    def _stop_waiting(self, made: socket.socket) -> None:
        if self._waiting:
            self._waiting = False
            self._ports.loop.remove(made.fileno())

    def _close(self) -> None:
        made, self._socket = self._socket, None
        if made is not None:
            self._stop_waiting(made)
            made.close()

    def _give_up(self) -> None:
        self._close()
        self._ports.leave(self)


def _is_own(made: socket.socket) -> bool:
    """Whether no program is at its other end."""
    try:
        return bool(made.getsockname()[:2] == made.getpeername()[:2])
    except OSError:
        # The guest has broken it already.
        return True
