import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { Bridge } from './bridge.ts';

/** Options that `dockerode` accepts and its types do not have. */
interface RawAttach {
  attach(options: { _query: Record<string, boolean>; _body: Record<string, never>; hijack: true }): Promise<NodeJS.ReadWriteStream>;
}

/** A stream to the supervisor of a container that has not started yet. Undefined when that fails: a bridge can be opened later. */
export async function attachToContainer(docker: Docker, container: string): Promise<Duplex | undefined> {
  try {
    return new Bridge(await attachRaw(docker.getContainer(container), { stdin: true }));
  } catch {
    return undefined;
  }
}

/** The engine's multiplexed stream of a container's stdout and stderr. Writes go to the container's stdin. */
export async function attachRaw(container: Docker.Container, { stdin }: { stdin: boolean }): Promise<Duplex> {
  const query = { stream: true, stdin, stdout: true, stderr: true };
  // Not with dockerode's option `stdin`: with it, dockerode never ends a request that the engine refuses, and the socket stays open for ever.
  return (await (container as unknown as RawAttach).attach({ _query: query, _body: {}, hijack: true })) as Duplex;
}
