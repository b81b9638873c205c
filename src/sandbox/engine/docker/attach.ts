import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { Bridge } from './bridge.ts';

/** What `dockerode` takes as well, beside what its types say. */
interface RawAttach {
  attach(options: { _query: Record<string, boolean>; _body: Record<string, never>; hijack: true }): Promise<NodeJS.ReadWriteStream>;
}

/** A stream to the supervisor of a container that has not started yet. Undefined when the engine refuses it: there is another way in later. */
export async function attach(docker: Docker, container: string): Promise<Duplex | undefined> {
  try {
    return new Bridge(await attachRaw(docker.getContainer(container), { stdin: true }));
  } catch {
    return undefined;
  }
}

/** The engine's multiplexed stream of a container's stdout and stderr, to which its stdin is written. */
export async function attachRaw(container: Docker.Container, { stdin }: { stdin: boolean }): Promise<Duplex> {
  const query = { stream: true, stdin, stdout: true, stderr: true };
  // Not as `stdin` of dockerode's own: with that, it never ends a request that the engine refuses, and its socket stays open for ever.
  return (await (container as unknown as RawAttach).attach({ _query: query, _body: {}, hijack: true })) as Duplex;
}
