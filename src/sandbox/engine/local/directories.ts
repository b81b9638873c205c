import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from '../../../platform/place-whole.ts';
import { guestDirectory, guestUser, makeGuestHome, removeGuestFiles } from './guest-user.ts';
import type { ProcessIdentity } from './processes.ts';
import { removeTree } from './remove-tree.ts';

/** What the local backend stores about a sandbox's container: its directory, its volume and its labels. */
export interface LocalContainer {
  /** `<name>@<random>`: another container with the same name has another id. */
  id: string;
  name: string;
  directory: string;
  volumeName: string;
  labels: Record<string, string>;
  createdAtMs: number;
}
export interface Started extends ProcessIdentity {
  /** ISO 8601. */
  startedAt: string;
}
interface Volume {
  labels: Record<string, string>;
  createdAtMs: number;
}

/** The directories of the local backend: `containers/<name>`, and `volumes/<name>`, which stays when the container is removed. */
export interface Directories {
  /** Makes it, or finds the one that has this name. */
  makePlace(spec: Pick<LocalContainer, 'name' | 'volumeName' | 'labels'>): Promise<{ place: LocalContainer; isNew: boolean }>;
  /** By name or id. */
  place(container: string): Promise<LocalContainer | undefined>;
  places(): Promise<LocalContainer[]>;
  removePlace(place: LocalContainer): Promise<void>;
  started(place: LocalContainer): Promise<Started | undefined>;
  noteStart(place: LocalContainer, started: Started): Promise<void>;
  volumeDirectory(volume: string): string;
  volume(volume: string): Promise<Volume | undefined>;
  volumes(): Promise<(Volume & { name: string })[]>;
  removeVolume(volume: string): Promise<void>;
}

/** To remove something takes less time. Milliseconds. */
const REMOVED_WITHIN_MS = 3_600_000;

export function createDirectories(root: string, now = Date.now): Directories {
  const [containers, volumes, waste] = [join(root, 'containers'), join(root, 'volumes'), join(root, 'waste')];
  const place: Directories['place'] = async (container) => {
    const [name = ''] = container.split('@');
    const directory = join(containers, name);
    const kept = await readJson<Omit<LocalContainer, 'directory'>>(join(directory, 'container.json'));
    return kept && (container === name || container === kept.id) ? { ...kept, directory } : undefined;
  };
  const volumeDirectory: Directories['volumeDirectory'] = (name) => join(guestDirectory(root), 'volumes', name);
  const volume: Directories['volume'] = (name) => readJson<Volume>(join(volumes, name, 'volume.json'));
  return {
    place,
    async makePlace({ name, volumeName, labels }) {
      await makeWhole(join(volumes, volumeName), waste, { 'volume.json': { labels, createdAtMs: Date.now() } });
      await makeGuestHome(volumeDirectory(volumeName), await guestUser(volumeName));
      const made = { id: `${name}@${randomBytes(6).toString('hex')}`, name, volumeName, labels, createdAtMs: Date.now() };
      await makeWhole(join(containers, name), waste, { 'container.json': made });
      const found = (await place(name)) ?? { ...made, directory: join(containers, name) };
      return { place: found, isNew: found.id === made.id };
    },
    places: async () => (await Promise.all((await names(containers)).map(place))).filter((found) => found !== undefined),
    async removePlace({ directory }) {
      await removeWhole(directory, waste);
      await removeLeft(waste, now() - REMOVED_WITHIN_MS);
    },
    started: ({ directory }) => readJson<Started>(join(directory, 'supervisor.json')),
    noteStart: ({ directory }, started) => writeWhole(join(directory, 'supervisor.json'), JSON.stringify(started)),
    volumeDirectory,
    volume,
    async volumes() {
      const found = await Promise.all((await names(volumes)).map(async (name) => ({ name, kept: await volume(name) })));
      return found.flatMap(({ name, kept }) => (kept ? [{ name, ...kept }] : []));
    },
    async removeVolume(name) {
      await removeGuestFiles(volumeDirectory(name));
      await removeWhole(join(volumes, name), waste);
    },
  };
}

/** Makes a directory with its files atomically. An existing directory stays as it is. */
async function makeWhole(directory: string, waste: string, files: Record<string, object>): Promise<void> {
  if (await isThere(directory)) return;
  const draft = join(waste, randomBytes(8).toString('hex'));
  await mkdir(draft, { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(draft, name), JSON.stringify(content));
  await mkdir(join(directory, '..'), { recursive: true });
  try {
    await rename(draft, directory);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!(await isThere(directory))) throw error;
  }
}

/** Renames the directory first, so that it disappears at once although removing its files may take long or be interrupted. */
async function removeWhole(directory: string, waste: string): Promise<void> {
  const gone = join(waste, randomBytes(8).toString('hex'));
  await mkdir(waste, { recursive: true });
  try {
    await rename(directory, gone);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  await removeTree(gone);
}

/** Removes what processes have left that were killed while they removed it. What cannot be removed now is left to the next call. */
async function removeLeft(waste: string, beforeMs: number): Promise<void> {
  for (const name of await names(waste)) {
    const path = join(waste, name);
    const facts = await stat(path).catch(() => undefined);
    if (facts !== undefined && facts.ctimeMs < beforeMs) await removeTree(path).catch(() => undefined);
  }
}

async function readJson<T>(file: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as T;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

async function names(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
