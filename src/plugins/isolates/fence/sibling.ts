import { randomInt } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import type { PluginContainers, PluginContainerSpec } from '../../../sandbox/engine/docker/plugin-containers.ts';
import type { FencedProcess } from './fenced-process.ts';
import { MEMORY_BYTES, PROCESSES, limitNumbers } from './fence-limits.ts';
import { SIBLING_USERS, type UserRange } from './own-user.ts';
import { filesOfNode, LAUNCHER, processor } from './launcher.ts';
import { PROBE } from './measure-fence.ts';
import { seccompFilter } from './seccomp-filter.ts';
import { modulesOf, sharedObjectsOf } from './shared-objects.ts';

/** A way of starting programs in containers beside the worker. */
export interface Sibling {
  user: string;
  start(program: string[], script?: string): FencedProcess;
}

/** Ways that may work with an engine, the better first. An engine whose containers have few users refuses the first. */
export async function siblings(perl: string, containers: PluginContainers): Promise<Sibling[]> {
  const machine = processor();
  const [ofNode, ofPerl, modules] = await Promise.all([filesOfNode(), sharedObjectsOf(perl), modulesOf(perl)]);
  if (!machine || !ofNode || !ofPerl || !modules) return [];
  const files = [...new Set([perl, LAUNCHER, PROBE, ...modules, ...ofPerl, ...ofNode])];
  const words = [
    perl,
    LAUNCHER,
    `--arch=${machine}`,
    `--filter=${seccompFilter(machine)}`,
    ...limitNumbers().map((limit) => `--limit=${limit}`),
    '--watch=input',
  ];
  const userOf = ({ first, count }: UserRange) => first + randomInt(count);
  return SIBLING_USERS.map((range) => ({
    user: range.gives,
    start(program, script) {
      const all = script === undefined ? files : [...files, script];
      return startSibling(containers, { files: all, command: [...words, ...program], user: userOf(range), memoryBytes: MEMORY_BYTES, processes: PROCESSES });
    },
  }));
}

/** Behaves as a child process. The engine starts it, which takes a while: input that is written before then is buffered. */
function startSibling(containers: PluginContainers, spec: PluginContainerSpec): FencedProcess {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const child = new EventEmitter();
  let killed = false;
  const starting = containers.start(spec);
  const follow = async (): Promise<void> => {
    const { stream, split, ended, kill } = await starting;
    stream.on('error', () => undefined);
    split(stdout, stderr);
    stdin.pipe(stream);
    // The stream may end while the container is removed.
    const streamed = new Promise<void>((resolve) => stream.once('close', resolve).once('end', resolve));
    const [code] = await Promise.all([ended, killed ? kill() : undefined]);
    child.emit('exit', code, null);
    await streamed;
    for (const output of [stdout, stderr]) output.end();
    child.emit('close', killed ? null : code, killed ? 'SIGKILL' : null);
  };
  follow().catch((error: unknown) => {
    for (const output of [stdout, stderr]) output.end();
    child.emit('error', error);
  });
  return Object.assign(child, {
    pid: undefined,
    stdin,
    stdout,
    stderr,
    kill() {
      killed = true;
      starting.then(({ kill }) => kill()).catch(() => undefined);
      return true;
    },
  }) as unknown as FencedProcess;
}
