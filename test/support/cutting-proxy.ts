import { servePairs } from './paired-sockets.ts';

/** Stands between a client and a server, and cuts all its connections when it is told to or when the client has sent enough. */
export interface CuttingProxy extends AsyncDisposable {
  port: number;
  /** Cuts everything before the `messages`-th piece that a client sends from now on gets through, and refuses connections until `heal`. */
  cutAfter(messages: number): void;
  /** Cuts everything now, and refuses connections until `heal`. */
  cut(): void;
  /** True when it has cut since the last `cutAfter`. */
  hasCut(): boolean;
  heal(): void;
}

export async function startCuttingProxy(target: { host: string; port: number }): Promise<CuttingProxy> {
  let left = Infinity;
  let isCut = false;
  const pairs = await servePairs((client, open) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = open(target);
    client.on('data', (piece) => {
      left -= 1;
      if (left < 0) cut();
      else upstream.write(piece);
    });
    upstream.pipe(client);
  });
  const cut = () => {
    isCut = true;
    pairs.cut();
  };
  return {
    port: pairs.port,
    cutAfter(messages) {
      isCut = false;
      left = messages;
    },
    cut,
    hasCut: () => isCut,
    heal() {
      isCut = false;
      left = Infinity;
    },
    [Symbol.asyncDispose]: () => pairs[Symbol.asyncDispose](),
  };
}
