import { z } from 'zod';
import { failure } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import type { Permissions } from '../api/define-plugin.ts';
import type { ToolContext } from '../api/tool-context.ts';
import { readWithin } from './read-within.ts';

/** What the capabilities need to know of a call that is under way. */
export interface CallUnderWay {
  context: ToolContext;
  permissions: Permissions;
}

type Capability = (args: Json[], caller: CallUnderWay, name: string) => Promise<unknown>;

const MAX_TEXT = 1_000_000;
/** JSON has no undefined: an omitted value arrives as null. */
const optional = <T extends z.ZodType>(type: T) => type.nullish().transform((value) => value ?? undefined);
const text = z.string().max(MAX_TEXT);
const path = z.string().min(1).max(4_096);
const scope = optional(z.enum(['conversation-user', 'conversation', 'user', 'plugin']));
const json = z.custom<Json>((value) => value !== undefined);
const place = z.object({ cwd: path, env: z.record(z.string(), text), timeoutMs: z.number().positive() }).partial();

/** What a plugin's process may ask for. Each request is judged here by the permissions of the call; what the process claims is ignored. */
const CAPABILITIES: Record<string, Capability> = {
  fetch: capability([z.string().max(10_000), requestOf()], async ({ context, permissions }, url, request) => {
    if (!permissions.network?.length) throw failure('NETWORK_REFUSED', { target: url.slice(0, 200), problem: 'this tool has no permission for the network' });
    return answerOf(await context.fetch(url, { ...request, signal: context.signal }));
  }),
  readFile: capability([path], async ({ permissions }, wanted) => (await readWithin(permissions.fs ?? [], wanted)).toString()),
  send: capability([z.union([text, z.looseObject({ type: z.string() })], { error: 'give a text, or a part with its type' })], ({ context }, part) =>
    context.send(part as Parameters<ToolContext['send']>[0]),
  ),
  message: capability([], ({ context }) => context.message()),
  note: capability([text, optional(z.object({ wake: optional(z.boolean()) }))], ({ context }, said, options) => context.note(said, present(options ?? {}))),
  'store.get': capability([text, scope], async ({ context: { store } }, key, within) => wrapped(await store.get(key, within))),
  'store.entry': capability([text, scope], async ({ context: { store } }, key, within) => wrapped(await store.entry(key, within))),
  'store.set': capability(
    [text, json, optional(z.object({ scope, ttlMs: optional(z.number()), ifVersion: optional(z.number()) }))],
    ({ context: { store } }, key, value, options) => store.set(key, value, present(options ?? {})),
  ),
  'store.delete': capability([text, scope], ({ context: { store } }, key, within) => store.delete(key, within)),
  'store.list': capability([optional(text), scope], ({ context: { store } }, prefix, within) => store.list(prefix, within)),
  'files.put': capability([sourceOf(), optional(z.object({ name: path, directory: path }).partial())], ({ context: { files } }, source, options) =>
    files.put(source, present(options ?? {})),
  ),
  'files.get': capability([path, optional(z.object({ maxBytes: z.number() }).partial())], async ({ context: { files } }, wanted, options) =>
    Buffer.from(await files.get(wanted, present(options ?? {}))).toString('base64'),
  ),
  'sandbox.exec': capability(
    [text, optional(place.extend({ stdin: optional(z.string()), stdinBase64: optional(z.string()), quiet: z.boolean().optional() }))],
    ({ context: { sandbox } }, command, given) => {
      const { stdin, stdinBase64, ...options } = given ?? {};
      const input = stdinBase64 === undefined ? stdin : Buffer.from(stdinBase64, 'base64');
      return sandbox.exec(command, present({ ...options, stdin: input }));
    },
  ),
  'sandbox.runCode': capability([text, place.extend({ language: z.string(), contextId: z.string().optional() })], ({ context: { sandbox } }, code, options) =>
    sandbox.runCode(code, present(options) as Parameters<typeof sandbox.runCode>[1]),
  ),
  'sandbox.start': capability([text, optional(place)], ({ context: { sandbox } }, command, options) => sandbox.start(command, present(options ?? {}))),
};

/**
 * Does what a call asked for.
 * @throws an error whose message the plugin receives.
 */
export async function useCapability(what: string, args: Json[], caller: CallUnderWay): Promise<Json> {
  const use = Object.hasOwn(CAPABILITIES, what) ? CAPABILITIES[what] : undefined;
  if (!use) throw failure('INVALID_ARGUMENT', { what: what.slice(0, 40), problem: 'there is no such capability', fix: 'See docs/guides/plugins.md' });
  return ((await use(args, caller, what)) ?? null) as Json;
}

/** Checks the arguments against the types first; the callback receives the parsed values. */
function capability<Types extends z.ZodType[]>(
  types: [...Types],
  use: (caller: CallUnderWay, ...args: { [Index in keyof Types]: z.output<Types[Index]> }) => Promise<unknown>,
): Capability {
  return async (args, caller, name) => {
    const parsed = types.map((type, index) => {
      const result = type.safeParse(args[index]);
      if (result.success) return result.data;
      const { path: within = [], message: problem = 'not usable' } = result.error.issues[0] ?? {};
      const what = [`Argument ${index + 1} of ${name}`, ...within.map(String)].join('/');
      throw failure('INVALID_ARGUMENT', { what: what.slice(0, 200), problem, fix: 'See docs/guides/tools.md' });
    });
    return use(caller, ...(parsed as { [Index in keyof Types]: z.output<Types[Index]> }));
  };
}

function requestOf() {
  return z
    .object({
      method: optional(z.string().max(20)),
      redirect: optional(z.enum(['follow', 'manual', 'error'])),
      headers: z.array(z.tuple([z.string(), z.string()])).max(100),
      body: optional(z.string()),
    })
    .transform(({ body, ...request }) => present({ ...request, body: body === undefined ? undefined : Buffer.from(body, 'base64') }));
}

function sourceOf() {
  const bytes = z.object({ bytesBase64: z.string(), name: path });
  const error = 'give { url }, { hostPath }, or { bytes, name } with bytes in a Uint8Array or ArrayBuffer';
  return z.union([z.strictObject({ url: text }), z.strictObject({ hostPath: path }), bytes], { error }).transform((source) => {
    return 'bytesBase64' in source ? { bytes: new Uint8Array(Buffer.from(source.bytesBase64, 'base64')), name: source.name } : source;
  });
}

async function answerOf(response: Response): Promise<Json> {
  const { status, statusText, url, redirected } = response;
  const body = Buffer.from(await response.arrayBuffer()).toString('base64');
  return { status, statusText, url, redirected, headers: [...response.headers], body };
}

function wrapped(found: unknown): { found: unknown } | null {
  return found === undefined ? null : { found };
}

/** Omits keys whose value is undefined. */
function present<T extends object>(options: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [Key in keyof T]: Exclude<T[Key], undefined> };
}
