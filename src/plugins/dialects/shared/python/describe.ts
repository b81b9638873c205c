import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseForeign } from '../../../../contracts/foreign-json.ts';
import { freeExec } from '../../../../contracts/call-ids.ts';
import { makeId } from '../../../../contracts/ids.ts';
import type { JsonObject } from '../../../../contracts/json.ts';
import { writeWhole } from '../../../../platform/place-whole.ts';
import type { ServerAnswer } from '../../../../sandbox/api/host-methods.ts';
import type { WorkerHandle } from '../../../../sandbox/api/sandbox.ts';
import { pluginInvalid } from '../../../api/plugin-invalid.ts';
import type { PluginSandboxes } from '../plugin-dialect.ts';
import { digestOf, type Layer, type PythonFacts } from './layers.ts';
import { LIMITS } from './own-sandboxes.ts';
import { programOf, upload, type Program } from './program.ts';

const TTL_MS = 300_000;
const TIMEOUT_MS = 60_000;
const FACTS = 'import platform, sys; print("%d.%d" % sys.version_info[:2], platform.machine(), platform.libc_ver()[1])';

/** Works in a sandbox without a network that is removed afterwards. */
export async function inPassingSandbox<Result>({ sandboxes }: PluginSandboxes, work: (handle: WorkerHandle) => Promise<Result>): Promise<Result> {
  const sandboxId = makeId('sbx', Date.now(), Math.random);
  try {
    const { handle } = await sandboxes.open({ sandboxId, tenantId: 'default', ttlMs: TTL_MS }, LIMITS);
    return await work(handle);
  } finally {
    await sandboxes.destroy(sandboxId);
  }
}

/** The Python of sandboxes; asked once for each image. */
export async function pythonOf(given: PluginSandboxes): Promise<PythonFacts> {
  const path = join(given.directory, `python-${digestOf(given.image)}.json`);
  const found = await kept(path, z.object({ version: z.string(), machine: z.string(), libc: z.string() }));
  if (found) return found;
  const { stdout } = await inPassingSandbox(given, (handle) => handle.run(`python3 -c '${FACTS}'`, { timeoutMs: TIMEOUT_MS }));
  const [, version, machine, libc] = /^(3\.\d+) (\w+) (\d+\.\d+)$/.exec(stdout.text.trim()) ?? [];
  if (version === undefined || machine === undefined || libc === undefined)
    throw new Error(`the Python of the image ${given.image} is not usable: ${stdout.text}`);
  await writeWhole(path, JSON.stringify({ version, machine, libc }));
  return { version, machine, libc };
}

export interface Describing<Described> {
  /** The plugin's name for messages. */
  name: string;
  program: Program;
  given: PluginSandboxes;
  /** What its code may say of itself. */
  schema: z.ZodType<Described>;
}

/** Asks the plugin what it offers, with a configuration; once for the same files, packages and configuration. @throws PLUGIN_INVALID */
export async function describe<Described>({ name, program, given, schema }: Describing<Described>, config: JsonObject): Promise<Described> {
  const path = join(given.directory, `described-${digestOf(JSON.stringify([program.layers.map((layer: Layer) => layer.name), config]))}.json`);
  const found = await kept(path, schema);
  if (found) return found;
  const answer = await inPassingSandbox(given, async (handle) => {
    await upload(handle, program.layers);
    const request = { method: 'longshore/describe', params: {} };
    return handle.callServer(programOf(program, config, { describe: true }), request, { execId: freeExec(), timeoutMs: TIMEOUT_MS });
  });
  if (answer.outcome !== 'answered')
    throw pluginInvalid(name, `its code cannot be loaded: ${reasonOf(answer)}`, 'Correct it, or add what it needs to its requirements');
  const parsed = schema.safeParse(answer.result);
  if (!parsed.success) throw pluginInvalid(name, 'what it says of its tools is not usable', z.prettifyError(parsed.error).slice(0, 500));
  await writeWhole(path, JSON.stringify(parsed.data));
  return parsed.data;
}

function reasonOf(answer: Exclude<ServerAnswer, { outcome: 'answered' }>): string {
  if ('why' in answer) return answer.why;
  return 'message' in answer ? answer.message : `it did not answer within ${TIMEOUT_MS / 1000} seconds`;
}

async function kept<Kept>(path: string, schema: z.ZodType<Kept>): Promise<Kept | undefined> {
  try {
    return schema.parse(parseForeign(await readFile(path, 'utf8')));
  } catch {
    // Nothing usable is kept: it is asked again.
    return undefined;
  }
}
