import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { parseForeign } from '../../contracts/foreign-json.ts';
import { failure } from '../../contracts/errors.ts';
import { createGuardedFetch } from '../../network/guarded-fetch.ts';

/** The `server.json` of the registry of MCP servers: what of it is read. Everything in it is the word of a stranger. */

const line = z
  .string()
  .max(2_000)
  .regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'has a line break or another control character');
const text = z.string().max(10_000);

const input = z.looseObject({
  description: text.optional(),
  isRequired: z.boolean().default(false),
  isSecret: z.boolean().default(false),
  value: line.optional(),
  default: line.optional(),
  choices: z.array(line).optional(),
});
const withVariables = input.extend({ variables: z.record(z.string(), input).default({}) });
const named = withVariables.extend({ name: line.min(1) });
const argument = z.discriminatedUnion('type', [
  withVariables.extend({ type: z.literal('positional'), valueHint: line.optional() }),
  named.extend({ type: z.literal('named') }),
]);
const remote = z.looseObject({ type: line, url: line, headers: z.array(named).default([]), variables: z.record(z.string(), input).default({}) });
const packaged = z.looseObject({
  registryType: line,
  registryBaseUrl: line.optional(),
  identifier: line,
  version: line.optional(),
  fileSha256: line.optional(),
  runtimeHint: line.optional(),
  transport: z.looseObject({ type: line }),
  runtimeArguments: z.array(argument).default([]),
  packageArguments: z.array(argument).default([]),
  environmentVariables: z.array(named).default([]),
});
const server = z.looseObject({
  name: line.min(1),
  description: text.default(''),
  version: line.min(1),
  remotes: z.array(remote).default([]),
  packages: z.array(packaged).default([]),
});

export type RegistryInput = z.output<typeof withVariables>;
export type RegistryVariable = z.output<typeof input>;
export type NamedInput = z.output<typeof named>;
export type RegistryArgument = z.output<typeof argument>;
export type RegistryRemote = z.output<typeof remote>;
export type RegistryPackage = z.output<typeof packaged>;
export type ServerDocument = z.output<typeof server>;

const MOST_BYTES = 1024 * 1024;
const TIMEOUT_MS = 30_000;

/**
 * Reads a document from a file or, at a public address or one that an operator allows, with https.
 * @throws INVALID_ARGUMENT, NETWORK_REFUSED, NETWORK_FAILED
 */
export async function readServerDocument(source: string, network: { allowAddresses: string[]; setting: string }): Promise<ServerDocument> {
  const content = /^[a-z][a-z0-9+.-]*:\/\//i.test(source) ? await fetchText(source, network) : await readText(source);
  return parseServerDocument(content);
}

/** @throws INVALID_ARGUMENT with the first problem and its place */
export function parseServerDocument(content: string): ServerDocument {
  let value: unknown;
  try {
    value = parseForeign(content);
  } catch (error) {
    throw unusable(`it is not JSON (${(error as Error).message})`, error);
  }
  // The API of the registry puts it into an envelope.
  const inner = z.object({ server: z.unknown() }).safeParse(value);
  const parsed = server.safeParse(inner.success ? inner.data.server : value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw unusable(`/${issue?.path.join('/') ?? ''}: ${issue?.message ?? ''}`);
}

async function fetchText(address: string, { allowAddresses, setting }: { allowAddresses: string[]; setting: string }): Promise<string> {
  if (!/^https:\/\//i.test(address) || !URL.canParse(address)) throw unusable('its address has to begin with https://');
  await using guarded = createGuardedFetch({ hosts: [new URL(address).host], allowAddresses, setting, maxBytes: MOST_BYTES, timeoutMs: TIMEOUT_MS });
  const response = await guarded.fetch(address, { headers: { accept: 'application/json' } });
  if (response.status !== 200) throw unusable(`its address answers with ${response.status}`);
  return response.text();
}

async function readText(path: string): Promise<string> {
  try {
    const content = await readFile(path, 'utf8');
    if (content.length <= MOST_BYTES) return content;
  } catch (error) {
    throw unusable((error as Error).message, error);
  }
  throw unusable(`it has more than ${MOST_BYTES} characters`);
}

export function unusable(
  problem: string,
  cause?: unknown,
  fix = 'Give a server.json of the registry of MCP servers: a file, or an address with https://',
): Error {
  return failure('INVALID_ARGUMENT', { what: 'server.json', problem, fix }, cause);
}
