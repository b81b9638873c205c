import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Address {
  host: string;
  port: number;
}

/** A way to a server that all bytes of its clients take, and which can be broken. */
export interface Way extends AsyncDisposable {
  port: number;
  /** Ends all connections, and refuses new ones until `heal`. */
  cut(): void;
  /**
   * As when the other machine is gone, or the cable: connections stay and new ones are made, but nothing arrives in either direction, the end of a connection
   * neither, until `heal`, which ends them. New ones do not reach the server.
   */
  silence(): void;
  heal(): void;
  /**
   * Ends the next connection on which a client says something. `before`: the server does not get it. `after`: the server gets it, and its answer is lost.
   */
  dropNext(when: 'before' | 'after'): void;
  /** Asked for each thing that a client says: it is lost as with `dropNext`, or arrives so many milliseconds late. Undefined: nothing of that. */
  disturb(choose: () => Disturbance | undefined): void;
  /** Connections that `dropNext` and `disturb` have ended. */
  dropped(): number;
}

export type Disturbance = 'before' | 'after' | number;

interface Link {
  end(): void;
  isSilent: boolean;
}

/** `target` is asked for each new connection; without one, the connection is refused. */
export async function openWay(target: () => Address | undefined): Promise<Way> {
  const links = new Set<Link>();
  const drops: ('before' | 'after')[] = [];
  let state: 'open' | 'cut' | 'silent' = 'open';
  let disturbance: () => Disturbance | undefined = () => undefined;
  let dropped = 0;
  const server = createServer((client) => {
    const address = state === 'cut' ? undefined : target();
    if (!address) {
      client.destroy();
      return;
    }
    if (state === 'silent') {
      hold(client, links);
      return;
    }
    const upstream = connect(address);
    const link: Link = { isSilent: false, end: () => [client, upstream].forEach((socket) => socket.destroy()) };
    links.add(link);
    endTogether([client, upstream], link, () => links.delete(link));
    const drop = () => {
      dropped += 1;
      link.end();
    };
    let losesAnswer = false;
    client.on('data', (piece) => {
      if (link.isSilent || losesAnswer) return;
      const fault = drops.shift() ?? disturbance();
      if (fault === 'before') return drop();
      losesAnswer = fault === 'after';
      if (typeof fault === 'number') return passLate(piece, client, upstream, fault);
      pass(piece, client, upstream);
    });
    upstream.on('data', (piece) => {
      if (losesAnswer) drop();
      else if (!link.isSilent) pass(piece, upstream, client);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endAll = () => links.forEach((link) => link.end());
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      state = 'cut';
      endAll();
    },
    silence() {
      state = 'silent';
      for (const link of links) link.isSilent = true;
    },
    heal() {
      state = 'open';
      for (const link of links) if (link.isSilent) link.end();
    },
    dropNext: (when) => void drops.push(when),
    disturb(choose) {
      disturbance = choose;
    },
    dropped: () => dropped,
    async [Symbol.asyncDispose]() {
      state = 'cut';
      endAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A connection that is made in silence. */
function hold(client: Socket, links: Set<Link>): void {
  const link: Link = { isSilent: true, end: () => client.destroy() };
  links.add(link);
  client.on('error', () => undefined);
  client.on('close', () => links.delete(link));
  client.resume();
}

/** What one has sent before it ended still reaches the other. */
function endTogether([one, other]: [Socket, Socket], link: Link, ended: () => void): void {
  const open = new Set([one, other]);
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => {
      if (!link.isSilent) to.destroy();
    });
    from.on('close', () => {
      open.delete(from);
      if (open.size === 0) ended();
      if (link.isSilent) return;
      to.end();
      to.resume();
    });
  }
}

/** What the sender says next waits as well. */
function passLate(piece: Buffer, from: Socket, to: Socket, milliseconds: number): void {
  from.pause();
  setTimeout(() => {
    from.resume();
    pass(piece, from, to);
  }, milliseconds);
}

/** A reader that is slow slows the sender down. */
function pass(piece: Buffer, from: Socket, to: Socket): void {
  if (to.write(piece)) return;
  from.pause();
  to.once('drain', () => from.resume());
}
