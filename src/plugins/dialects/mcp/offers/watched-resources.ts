import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isFailure } from '../../../../contracts/errors.ts';
import type { Json, JsonObject } from '../../../../contracts/json.ts';
import { cutMiddle, visibleLine } from '../../../../contracts/visible-text.ts';
import type { ServerRequest } from '../../../../sandbox/api/host-methods.ts';
import type { PluginStore } from '../../../api/define-plugin.ts';

/** Where a conversation keeps what it watches at a server. */
export type WatchStore = Pick<PluginStore, 'entry' | 'set'>;
type Ask = (request: ServerRequest) => Promise<JsonObject>;

/** By address of the resource: a digest of the content that the model has read, or that was there when it began to watch, and whether it has changed since. */
type Watched = Record<string, { digest: string; changed?: boolean | undefined }>;

const KEY = 'watched';
const WATCHED: z.ZodType<Watched> = z.record(z.string(), z.object({ digest: z.string(), changed: z.boolean().optional() }));
/** Of one server in one conversation. */
const MOST = 20;
const LONGEST_SHOWN = 500;
const ATTEMPTS = 10;

export function readingOf(uri: string): ServerRequest {
  return { method: 'resources/read', params: { uri } };
}

export async function watchedIn(store: WatchStore): Promise<Watched> {
  return WATCHED.safeParse((await store.entry(KEY))?.value).data ?? {};
}

/** Begins to watch a resource. @throws an Error when too many are watched, or the server refuses */
export async function watch(store: WatchStore, uri: string, ask: Ask): Promise<void> {
  const isOneMore = (watched: Watched) => !Object.hasOwn(watched, uri) && Object.keys(watched).length >= MOST;
  const tooMany = () => new Error(`${MOST} resources of this server are watched, which is the limit; stop watching one of them`);
  if (isOneMore(await watchedIn(store))) throw tooMany();
  const digest = digestOf(await subscribed(uri, ask));
  await change(store, (watched) => {
    if (isOneMore(watched)) throw tooMany();
    return { ...watched, [uri]: { digest } };
  });
}

/** True if it was watched. */
export async function unwatch(store: WatchStore, uri: string): Promise<boolean> {
  return change(store, ({ [uri]: known, ...others }) => known && others);
}

/** Reads a resource for the model. One that is watched is subscribed to again, since its server may have been started anew. */
export async function readFor(store: WatchStore, uri: string, ask: Ask): Promise<JsonObject> {
  if (!Object.hasOwn(await watchedIn(store), uri)) return ask(readingOf(uri));
  const given = await subscribed(uri, ask);
  await noteRead(store, uri, given);
  return given;
}

/** The server was started anew, and does not know what is watched: the model is told to read all of it again. */
export async function noteRestart(store: WatchStore): Promise<void> {
  await change(store, (watched) => {
    const all = Object.entries(watched).map(([uri, { digest }]) => [uri, { digest, changed: true }] as const);
    return all.length === 0 ? undefined : Object.fromEntries(all);
  });
}

/** The model has read a resource: what is told of it is up to date. */
async function noteRead(store: WatchStore, uri: string, given: JsonObject): Promise<void> {
  await change(store, (watched) => (Object.hasOwn(watched, uri) ? { ...watched, [uri]: { digest: digestOf(given) } } : undefined));
}

/** The server says that a resource has changed. */
export async function noteChange(store: WatchStore, uri: string): Promise<void> {
  await change(store, ({ ...watched }) => {
    const known = Object.hasOwn(watched, uri) ? watched[uri] : undefined;
    return known && !known.changed ? { ...watched, [uri]: { ...known, changed: true } } : undefined;
  });
}

/** Subscribes to a watched resource over a new connection, and compares it: it may have changed while nobody heard of it. */
export async function lookAgain(store: WatchStore, uri: string, ask: Ask): Promise<void> {
  const digest = digestOf(await subscribed(uri, ask));
  if ((await watchedIn(store))[uri]?.digest !== digest) await noteChange(store, uri);
}

/** The same for all that is watched, at a server that may have been started again. What it does not let be read counts as changed. */
export async function lookAtWatched(store: WatchStore, ask: Ask): Promise<void> {
  const look = async (uri: string): Promise<void> => {
    try {
      await lookAgain(store, uri, ask);
    } catch (error) {
      if (isFailure(error)) throw error;
      await noteChange(store, uri);
    }
  };
  await Promise.all(Object.keys(await watchedIn(store)).map(look));
}

/** What the model is told in each step; undefined when nothing has changed. */
export function tellWatched(server: string, watched: Watched): string | undefined {
  const changed = Object.entries(watched).filter(([, { changed: has }]) => has);
  if (changed.length === 0) return undefined;
  const lines = changed.map(([uri]) => `> ${cutMiddle(visibleLine(uri), LONGEST_SHOWN)}`);
  return `Resources of the MCP server ${server} that you watch have changed since you read them. Read them again where that matters:\n${lines.join('\n')}`;
}

async function subscribed(uri: string, ask: Ask): Promise<JsonObject> {
  await ask({ method: 'resources/subscribe', params: { uri } });
  return ask(readingOf(uri));
}

function digestOf({ contents }: JsonObject): string {
  return createHash('sha256')
    .update(JSON.stringify(contents ?? null))
    .digest('hex')
    .slice(0, 24);
}

/** Replaces what is stored, also while others do. False when nothing is to be replaced. */
async function change(store: WatchStore, made: (watched: Watched) => Watched | undefined): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { value, version = 0 } = (await store.entry(KEY)) ?? {};
    const next = made(WATCHED.safeParse(value).data ?? {});
    if (next === undefined) return false;
    if ((await store.set(KEY, next as unknown as Json, { ifVersion: version })) !== 'conflict') return true;
  }
  throw new Error('what is watched was changed by others at the same time; try it again');
}
