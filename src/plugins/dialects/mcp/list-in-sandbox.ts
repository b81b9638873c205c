import { createHash } from 'node:crypto';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from '../../../platform/place-whole.ts';
import type { SandboxAsset, SandboxOptions } from '../../../contracts/agent.ts';
import { makeId } from '../../../contracts/ids.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import type { SandboxServer } from '../../../sandbox/api/host-methods.ts';
import type { Sandboxes } from '../../../sandbox/api/host-sandboxes.ts';
import { ensureOwnDirectory } from '../../../platform/own-path.ts';
import { uploadAssets } from '../../../sandbox/api/upload-assets.ts';
import { askForTools } from './ask-for-tools.ts';
import { LISTED_TOOLS, type ListedTools } from './offers/listed-tools.ts';

/** Lists the tools of a server as it runs in a sandbox with these options; `again` asks the server even where its tools are known. */
export type ListInSandbox = (server: SandboxServer, options: SandboxOptions, how?: { again?: boolean }) => Promise<ListedTools>;

interface ListerParts {
  sandboxes: Pick<Sandboxes, 'open' | 'destroy'>;
  /** Default options of sandboxes. */
  standard: JsonObject;
  directory: string;
}

const TTL_MS = 300_000;
const LIST_TIMEOUT_MS = 60_000;
/** Changes when more is kept, so that servers are asked again. */
const KEPT_FORM = 3;

/**
 * Lists in a sandbox of its own, which is destroyed after the answer. The answer for the same program in the same sandbox with the same assets is kept in
 * `directory`, so that a worker has the tools at once after a restart.
 */
export function createLister({ sandboxes, standard, directory }: ListerParts): ListInSandbox {
  return async (server, options, { again = false } = {}) => {
    const { persist: _persist, sandboxId: _sandboxId, keepalive: _keepalive, ...container } = options;
    const path = join(directory, `${server.name}-${await digestOf(server, { ...standard, ...container })}.json`);
    await ensureOwnDirectory(directory);
    const known = again ? undefined : await readKept(path);
    if (known) return known;
    const sandboxId = makeId('sbx', Date.now(), Math.random);
    try {
      const { handle } = await sandboxes.open({ sandboxId, tenantId: 'default', ttlMs: TTL_MS }, container);
      if (container.assets) await uploadAssets(handle, container.assets);
      const listed = await askForTools(handle, server, { timeoutMs: LIST_TIMEOUT_MS });
      await keep(path, listed);
      return listed;
    } finally {
      await sandboxes.destroy(sandboxId);
    }
  };
}

async function readKept(path: string): Promise<ListedTools | undefined> {
  try {
    return LISTED_TOOLS.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    // There is no usable list: the server is asked.
    return undefined;
  }
}

async function keep(path: string, listed: ListedTools): Promise<void> {
  await writeWhole(path, JSON.stringify(listed));
}

/** Digest of everything that decides which tools exist. Values of variables are left out: they are secrets, and the digest is part of a file name. */
async function digestOf({ env, ...program }: SandboxServer, options: SandboxOptions): Promise<string> {
  const assets = await Promise.all((options.assets ?? []).map(describeAsset));
  const told = JSON.stringify([KEPT_FORM, program, Object.keys(env), options, assets]);
  return createHash('sha256').update(told).digest('hex').slice(0, 24);
}

/** Names, sizes and times of the files. Their contents are not read, because they may be large. */
async function describeAsset({ from }: SandboxAsset): Promise<string[]> {
  const facts = await stat(from).catch(() => undefined);
  if (!facts?.isDirectory()) return [`${facts?.size} ${facts?.mtimeMs}`];
  const names = (await readdir(from, { recursive: true })).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const file = await stat(join(from, name)).catch(() => undefined);
      return `${name} ${file?.size} ${file?.mtimeMs}`;
    }),
  );
}
