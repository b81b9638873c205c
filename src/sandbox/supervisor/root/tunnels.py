"""Egress of the guest: a listener on the container's loopback. Its connections are passed, unread, to a worker, which decides what is allowed."""

from __future__ import annotations

import errno

from root import egress_environment
from root.loop import READ
from root.tunnel import Tunnel
from shared.lean_modules import accept, socket
from shared.protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from root.connection import Channel
    from root.loop import Loop
    from shared.shapes import Environment, Fields

# Connections that may wait for a worker, of which more wait in the kernel's queue; and those that may be open; beyond that, one is dropped for a new one.
_WAITING = 64
_OPEN = 256
# Active seconds that a connection waits for a worker.
_PATIENCE = 5.0
_NO_WORKER = b'Longshore: no worker is connected to this sandbox, so nothing can leave it now. Try again later.\n'


class Tunnels:
    def __init__(self, loop: Loop, base_env: Environment) -> None:
        self._loop = loop
        self._base_env = base_env
        self._listener: socket.socket | None = None
        self._listening = False
        self._port = 0
        self._servers: list[_Server] = []
        self._waiting: dict[str, Tunnel] = {}
        self._open: set[Tunnel] = set()
        self._count = 0

    def due(self) -> float | None:
        """The active time at which the oldest waiting connection has waited too long."""
        return next(iter(self._waiting.values())).deadline if self._waiting else None

    def on_time(self, now: float) -> None:
        while self._waiting:
            tunnel_id, tunnel = next(iter(self._waiting.items()))
            if now < tunnel.deadline:
                break
            del self._waiting[tunnel_id]
            tunnel.refuse(_NO_WORKER)
        self._listen()

    @property
    def port(self) -> int:
        """Where it listens; 0 before."""
        return self._port

    def serve(self, channel: Channel, fields: Fields) -> None:
        """Offers connections to this client for as long as it stays; the newest client gets them."""
        self._open_port(fields['port'])
        self._base_env.update(egress_environment.prepare(fields['port'], fields.get('certificate')))
        server = _Server(self, channel)
        self._servers.append(server)
        for tunnel_id in self._waiting:
            server.offer(tunnel_id)

    def accept(self, channel: Channel, fields: Fields) -> None:
        tunnel = self._waiting.pop(fields['tunnelId'], None)
        if tunnel is None:
            raise Refused('INVALID_ARGUMENT', 'that connection does not wait any more')
        if len(self._open) >= _OPEN:
            # First what no worker has answered yet, then the longest silent.
            min(self._open, key=lambda held: (held.answered, held.touched)).drop()
        self._open.add(tunnel)
        tunnel.open(channel, self._on_closed)
        self._listen()

    def drop(self, server: _Server) -> None:
        """Connections that it was offered but has not taken are offered to another client."""
        self._servers.remove(server)
        if self._servers:
            for tunnel_id in self._waiting:
                self._servers[-1].offer(tunnel_id)

    def _open_port(self, port: int) -> None:
        if self._listener is not None:
            if port != self._port:
                raise Refused('INVALID_ARGUMENT', f'the egress of the sandbox already uses port {self._port}')
            return
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(('127.0.0.1', port))
            listener.listen(128)
        except OSError as error:
            listener.close()
            raise Refused('INTERNAL', f'port {port} of the sandbox cannot be listened on: {error.strerror}') from error
        self._listener = listener
        self._port = port
        self._listen()

    def _listen(self) -> None:
        listener = self._listener
        wanted = len(self._waiting) < _WAITING
        if listener is None or wanted == self._listening:
            return
        self._listening = wanted
        if wanted:
            self._loop.add(listener.fileno(), READ, lambda mask: self._accept(listener))
        else:
            self._loop.remove(listener.fileno())

    def _accept(self, listener: socket.socket) -> None:
        try:
            fd = accept(listener)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                # Listened on again when something was closed, or when the clock says so.
                self._listening = False
                self._loop.remove(listener.fileno())
            return
        self._count += 1
        tunnel_id = f't{self._count}'
        self._waiting[tunnel_id] = Tunnel(socket.socket(fileno=fd), self._loop, self._loop.now() + _PATIENCE)
        if self._servers:
            self._servers[-1].offer(tunnel_id)
        self._listen()

    def _on_closed(self, tunnel: Tunnel) -> None:
        self._open.discard(tunnel)
        self._listen()


class _Server:
    """A client that accepts connections: it receives their ids, one per line."""

    def __init__(self, tunnels: Tunnels, channel: Channel) -> None:
        self._tunnels = tunnels
        self._channel = channel
        self._lines = b''
        channel.handler = self

    def offer(self, tunnel_id: str) -> None:
        self._lines += b'{"tunnelId":"%s"}\n' % tunnel_id.encode()
        self.on_credit()

    def on_credit(self) -> None:
        size = min(len(self._lines), self._channel.writable)
        if size > 0:
            self._channel.data(self._lines[:size])
            self._lines = self._lines[size:]

    def on_close(self) -> None:
        self._tunnels.drop(self)
