import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { mustRun } from '../src/platform/run-command.ts';
import type { SandboxHandle } from '../src/sandbox/api/sandbox.ts';
import { compare, timed, type Measurement } from './measure.ts';
import type { BenchParts } from './parts.ts';

/** Pinned, so that figures of two days compare the same thing. */
const PACKAGE = '@openai/agents@0.20.0';
const CREATES = 5;
const CALLS = 20;
const PARALLEL = 50;
const FILE_BYTES = 100_000;

/** What is used of the package; it is not among our dependencies, so its types are not here. */
interface Session {
  exec(args: { cmd: string }): Promise<{ exitCode?: number | null }>;
  materializeEntry(args: { path: string; entry: unknown }): Promise<void>;
  readFile(args: { path: string }): Promise<Uint8Array>;
  close(): Promise<void>;
}
interface Client {
  create(): Promise<Session>;
}
interface Theirs {
  client: Client;
  file: (options: { content: string }) => unknown;
}

/** The Docker sandbox of another agent kit on the same image: create, command, 50 commands at once, a file written and read. */
export async function measureOpenaiAgents({ sandboxes, stack }: BenchParts): Promise<Measurement[]> {
  const theirs = await fetchTheirs(stack.config.LONGSHORE_HOME, stack.config.LONGSHORE_SANDBOX_IMAGE);
  const create = { subject: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < CREATES; round++) {
    const sandboxId = `sbx_bench_theirs_${round}`;
    create.subject.push(
      await timed(async () => {
        const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
        await handle.run('true');
      }),
    );
    await sandboxes.destroy(sandboxId);
    let session: Session | undefined;
    create.baseline.push(
      await timed(async () => {
        session = await theirs.client.create();
        await session.exec({ cmd: 'true' });
      }),
    );
    await session?.close();
  }
  const baselineIs = PACKAGE;
  return [compare({ name: 'theirs-create', goal: 1, unit: 'ms', baselineIs }, create), ...(await inOneSandbox({ sandboxes, theirs, baselineIs }))];
}

async function inOneSandbox({ sandboxes, theirs, baselineIs }: { sandboxes: BenchParts['sandboxes']; theirs: Theirs; baselineIs: string }) {
  const sandboxId = 'sbx_bench_theirs';
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
  const session = await theirs.client.create();
  const content = 'x'.repeat(FILE_BYTES);
  const pairs: [name: string, ours: () => Promise<unknown>, other: () => Promise<unknown>][] = [
    ['theirs-command', () => succeed(handle), () => session.exec({ cmd: 'true' })],
    ['theirs-write', () => handle.writeFile('/home/user/file', content), () => session.materializeEntry({ path: 'file', entry: theirs.file({ content }) })],
    ['theirs-read', () => handle.readFile('/home/user/file'), () => session.readFile({ path: 'file' })],
  ];
  const measurements: Measurement[] = [];
  try {
    for (const [name, ours, other] of pairs) {
      const samples = { subject: [] as number[], baseline: [] as number[] };
      for (let call = 0; call < CALLS; call++) {
        samples.subject.push(await timed(ours));
        samples.baseline.push(await timed(other));
      }
      // Their workspace is a directory of the host, so that writing to it does not reach into the container.
      measurements.push(compare({ name, ...(name !== 'theirs-write' && { goal: 1 }), unit: 'ms', baselineIs }, samples));
    }
    const subject = [await timed(() => Promise.all(Array.from({ length: PARALLEL }, () => succeed(handle))))];
    const baseline = [await timed(() => Promise.all(Array.from({ length: PARALLEL }, () => session.exec({ cmd: 'true' }))))];
    measurements.push(compare({ name: `theirs-${PARALLEL}-commands`, goal: 1, unit: 'ms', baselineIs }, { subject, baseline }));
  } finally {
    await session.close();
    await sandboxes.destroy(sandboxId);
  }
  return measurements;
}

async function succeed(handle: SandboxHandle): Promise<void> {
  const { exitCode } = await handle.run('true');
  if (exitCode !== 0) throw new Error(`true ended with ${exitCode}`);
}

/** Installs the package beside the caches, never among the project's own. */
async function fetchTheirs(home: string, image: string): Promise<Theirs> {
  const directory = join(home, 'bench-openai-agents');
  await mkdir(directory, { recursive: true });
  console.log(`npm install ${PACKAGE} in ${directory}`);
  await writeFile(join(directory, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  await mustRun('Installing the other kit', 'npm', ['install', '--ignore-scripts', '--prefix', directory, PACKAGE], {
    fix: 'Check that npm reaches its registry',
  });
  const entry = join(directory, 'entry.mjs');
  await writeFile(entry, "export { DockerSandboxClient } from '@openai/agents/sandbox/local';\nexport { file } from '@openai/agents/sandbox';\n");
  const { DockerSandboxClient, file } = (await import(pathToFileURL(entry).href)) as {
    DockerSandboxClient: new (options: { image: string; networkMode: 'none' }) => Client;
    file: Theirs['file'];
  };
  return { client: new DockerSandboxClient({ image, networkMode: 'none' }), file };
}
