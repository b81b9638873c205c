import type { z } from 'zod';
import { egressSchema } from '../definitions/parse/egress-schema.ts';
import { IMAGE, RANGES } from '../definitions/parse/sandbox-ranges.ts';
import type { Logger } from '../platform/log.ts';
import type { ListOptions, OpenSandboxOptions, RestoreOptions, SnapshotsOptions, WhereOptions } from './option-types.ts';
import { metadata } from '../sandbox/options/json-value.ts';
import { isNot, options, parseArgument, value } from '../sandbox/options/parse.ts';
import { showValue } from '../common/show-value.ts';
import {
  abortSignal,
  environment,
  faultOfCharacters,
  flag,
  lifetime,
  list,
  localPath,
  name,
  number,
  oneOf,
  path,
  sandboxId,
  tenant,
  text,
  texts,
  whole,
} from '../sandbox/options/values.ts';

const snapshotId = text({ kind: 'the id of a snapshot', maxLength: 100 });

const MAX_RULES = 1000;
const MAX_ASSETS = 1000;
const MAX_SECRETS = 100;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,199}$/;

const image = value<string>((given) => (typeof given === 'string' && IMAGE.test(given) ? undefined : isNot(given, 'the name of an image', 'Write name:tag')));

const databaseUrl = value<string>((given) => {
  const fix = 'Write postgres://user:password@host:port/database';
  if (typeof given !== 'string') return isNot(given, 'the address of a database', fix);
  // The value may contain a password, so the message does not show it.
  return URL.canParse(given) && /^postgres(ql)?:/.test(given) ? faultOfCharacters(given) : { problem: 'it is not the address of a Postgres database', fix };
});

const log = value<Logger>((given) => {
  const methods = ['debug', 'info', 'warn', 'error'] as const;
  const isLogger = typeof given === 'object' && given !== null && methods.every((level) => typeof (given as Logger)[level] === 'function');
  return isLogger ? undefined : isNot(given, 'a logger', 'Give one of pino, or an object with debug, info, warn and error');
});

/** The rules have the same schema as in the files of agents, which says what is wrong. */
export const egress = value<unknown[]>((given) => {
  if (!Array.isArray(given)) return isNot(given, 'an array of rules', "Give names of hosts or { host, ports, headers }: ['pypi.org']");
  if (given.length > MAX_RULES) return { problem: `it has ${given.length} rules`, fix: `Give at most ${MAX_RULES}` };
  for (const [index, rule] of given.entries()) {
    const parsed = egressSchema.safeParse([rule]);
    if (parsed.success) continue;
    const [issue] = parsed.error.issues;
    // A header may be a credential, so the message does not show it.
    const what = typeof rule === 'object' ? JSON.stringify(rule, (key, part: unknown) => (key === 'headers' ? '…' : part)) : showValue(rule);
    return { problem: `rule ${index + 1}, ${showValue(what)}, is not valid (${problemOf(issue)})`, fix: 'Give names of hosts or { host, ports, headers }' };
  }
  return undefined;
}).pipe(egressSchema);

/** For a union, reports the problem of the alternative that was parsed furthest. */
function problemOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code !== 'invalid_union') return `${issue?.path.slice(1).join('.') ?? ''} ${issue?.message}`.trim();
  const furthest = issue.errors.toSorted((a, b) => (b[0]?.path.length ?? 0) - (a[0]?.path.length ?? 0))[0]?.[0];
  return furthest ? `${furthest.path.join('.')} ${furthest.message}`.trim() : issue.message;
}

const secrets = texts({
  kind: 'variables',
  maxItems: MAX_SECRETS,
  faultOf(key, given) {
    if (!VARIABLE.test(key)) return { problem: `${showValue(key)} is not the name of a variable`, fix: 'Use letters, digits and "_"' };
    // The value is a secret, so the message does not show it.
    if (typeof given !== 'string') return { problem: `the value of ${showValue(key)} is not a text`, fix: 'Write it as ${env.NAME}' };
    return faultOfCharacters(given) && { problem: `the value of ${showValue(key)} has characters that no variable can hold`, fix: 'Write it as ${env.NAME}' };
  },
});

const assets = list({ item: options({ from: localPath, to: path }), kind: 'assets', maxItems: MAX_ASSETS });

/** Options that only a new sandbox takes. */
const newShape = {
  template: name.optional(),
  image: image.optional(),
  memoryMb: whole({ ...RANGES.memoryMb, unit: 'MB' }).optional(),
  cpus: number(RANGES.cpus).optional(),
  pids: whole({ ...RANGES.pids, unit: 'processes' }).optional(),
  diskMb: whole({ ...RANGES.diskMb, unit: 'MB', fix: 'Give whole MB; 0 leaves it to the storage' }).optional(),
  readOnlyRoot: flag.optional(),
  runtime: oneOf(['runc', 'runsc', 'auto'], 'a runtime').optional(),
  egress: egress.optional(),
  env: environment.optional(),
  secrets: secrets.optional(),
  metadata: metadata.optional(),
  workDirectory: path.optional(),
  onTtl: oneOf(['destroy', 'stop', 'hibernate'], 'known').optional(),
};

/** The database, the engine, and the tenant whose sandboxes are meant. */
const whereShape = {
  tenantId: tenant.optional(),
  backend: text({ kind: 'the name of a backend', maxLength: 4096 }).optional(),
  databaseUrl: databaseUrl.optional(),
  log: log.optional(),
} satisfies Record<keyof WhereOptions, z.ZodType>;

const openShape = {
  ...newShape,
  sandboxId: sandboxId.optional(),
  assets: assets.optional(),
  ttlMs: lifetime.optional(),
  signal: abortSignal.optional(),
  ...whereShape,
} satisfies Record<keyof OpenSandboxOptions, z.ZodType>;

const openOptions = options(openShape, (given) =>
  typeof given === 'string' && given.length <= 100
    ? `Call openSandbox({ sandboxId: ${showValue(given)} })`
    : 'Call it as in openSandbox({ template: "python" })',
)
  .optional()
  .superRefine((given, context) => {
    if (given === undefined || !('sandboxId' in given)) return;
    const [extra] = Object.keys(newShape).filter((key) => key in given);
    if (extra === undefined) return;
    const fault = { problem: `it holds for a new sandbox only, and ${showValue(given.sandboxId)} exists`, fix: 'Leave one of the two out' };
    context.addIssue({ code: 'custom', path: [extra], params: fault });
  });

/** @throws INVALID_ARGUMENT */
export function parseOpenOptions(given: unknown): OpenSandboxOptions {
  return parseArgument(openOptions, given, 'openSandbox') ?? {};
}

const TIERS = ['none', 'running', 'frozen', 'hibernated', 'stopped', 'archived', 'lost', 'destroyed'] as const;

const where = options(whereShape).optional();
const listOptions = options({ ...whereShape, tier: oneOf(TIERS, 'a tier').optional(), template: name.optional() }).optional();
const snapshotsOptions = options({ ...whereShape, sandboxId: sandboxId.optional() }).optional();
const restoreOptions = options({ ...whereShape, ttlMs: lifetime.optional(), signal: abortSignal.optional() }).optional();

/** Parses the options of `sandboxes.…`; `parseControl` parses the arguments of the methods of one sandbox. @throws INVALID_ARGUMENT */
export const parseWhere = (method: string, given: unknown): WhereOptions => parseArgument(where, given, method) ?? {};
export const parseList = (given: unknown): ListOptions => parseArgument(listOptions, given, 'sandboxes.list') ?? {};
export const parseSnapshots = (given: unknown): SnapshotsOptions => parseArgument(snapshotsOptions, given, 'sandboxes.snapshots') ?? {};
export const parseRestore = (given: unknown): RestoreOptions => parseArgument(restoreOptions, given, 'sandboxes.restore') ?? {};
export const parseSandboxId = (method: string, given: unknown): string => parseArgument(sandboxId, given, `${method}.sandboxId`);
export const parseSnapshotId = (method: string, given: unknown): string => parseArgument(snapshotId, given, `${method}.snapshotId`);
