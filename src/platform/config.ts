import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { DATABASE_ADDRESS, isDatabaseAddress } from './database-address.ts';
import { duration } from '../common/duration.ts';
import { failure } from '../contracts/errors.ts';
import { isHostAndPort } from '../common/host-and-port.ts';
import { readMemoryShare } from './read-memory-share.ts';
import { readLimits } from './read-limits.ts';
import { readEncryptionKeys } from './encryption-keys.ts';

const text = z.string().min(1);
/** Values that may contain a password: no message shows them. */
const CONFIDENTIAL = new Set(['DATABASE_URL']);
/** Well-known passwords: that of the development stack, and those that attackers try first. */
const KNOWN_PASSWORDS = new Set(['longshore', 'postgres', 'password', 'changeme', 'change-me', 'secret', 'admin', 'root', 'test', 'example', '123456']);
/** Names, separated by commas. */
const names = z
  .string()
  .default('')
  .transform((list) =>
    list
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  );
const isOrigin = (text: string) => URL.canParse(text) && new URL(text).origin === text;
/** Keys of an issuer that come over a network without TLS could be anybody's. */
const webAddress = text.refine((value) => URL.canParse(value) && isTrusted(new URL(value)), 'write https://host/…; http only for an address of this machine');
/** Browsers take the cookies of previews over TLS alone, but from this machine. */
const isPreviewAddress = (address: string) => {
  const [, scheme, rest] = /^(https?):\/\/\*\.([a-z0-9.-]+(?::\d+)?)$/.exec(address) ?? [];
  return rest !== undefined && URL.canParse(`${scheme}://${rest}`) && (scheme === 'https' || /(?:^|\.)localhost$/.test(new URL(`http://${rest}`).hostname));
};
const schema = z.object({
  /** Address of the Temporal frontend, `host:port`. */
  TEMPORAL_ADDRESS: text.default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: text.default('default'),
  /** Task queue of the conversations; each independent installation on a Temporal server has its own. */
  LONGSHORE_TASK_QUEUE: text.default('longshore'),
  /** This worker's version among those of its task queue, such as a build's number: Temporal then gives a conversation to workers of its current version alone. */
  LONGSHORE_WORKER_VERSION: text.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'use up to 100 letters, digits, ".", "_" and "-"').optional(),
  /** Whether a turn ends with the version that began it; conversations then move to the current version between turns. Otherwise they move with their next task. */
  LONGSHORE_PINNED_TURNS: z.enum(['yes', 'no']).default('no'),
  DATABASE_URL: text.refine(isDatabaseAddress, `write ${DATABASE_ADDRESS}`).default('postgres://longshore:longshore@127.0.0.1:5433/longshore'),
  /** Whether any program of a newer version brings the schema of the database up to date. With `no`, only `longshore setup` does. */
  LONGSHORE_MIGRATE: z.enum(['yes', 'no']).default('yes'),
  /** The same as for the docker command: `unix:///path`, `tcp://host:port`. */
  DOCKER_HOST: text.optional(),
  /** Directory of agent files. */
  LONGSHORE_AGENTS: text.default('agents'),
  /** Directory of templates. Default: `templates` beside the directory of the agents. */
  LONGSHORE_TEMPLATES: text.optional(),
  /** Name of this machine in sandbox rows; all workers of one engine use the same name. */
  LONGSHORE_HOST_ID: text.default(hostname()),
  /** A host whose workers have said nothing for so long is lost: the next call of a conversation gets a sandbox on another host. */
  LONGSHORE_HOST_LOST_AFTER: text.refine((value) => (duration.safeParse(value).data ?? 0) >= 30_000, 'write a duration such as 1m, 30s at least').default('1m'),
  /** The most memory that a host promises to its sandboxes together: `24g`, `512m`, `80%` of what the machine has, or `off`. */
  LONGSHORE_HOST_MEMORY: text.refine((value) => readMemoryShare(value) !== undefined, 'write 24g, 512m, 80%, or off').default('off'),
  /** A host whose engine has less disk free than that takes no new sandboxes: `1g`, `512m`, `5%` of the disk, or `off`. */
  LONGSHORE_MIN_FREE_DISK: text.refine((value) => readMemoryShare(value) !== undefined, 'write 1g, 512m, 5%, or off').default('1g'),
  /** How long a call waits for memory or disk of a host at most. */
  LONGSHORE_HOST_WAIT: text.refine((value) => duration.safeParse(value).success, 'write a duration such as 30m').default('30m'),
  /** What this machine is called beside its name, separated by commas: `zone=a,gpu`. Sandboxes may ask for these labels. */
  LONGSHORE_HOST_LABELS: names,
  /** Plugins that run in the worker's own process instead of an isolated one: the names that agents give them, separated by commas. */
  LONGSHORE_HOST_PLUGINS: names,
  /** Plugins, named in the same way, that may run although this machine's fence is level C. Code that escapes from level C acts as the worker's own user. */
  LONGSHORE_WEAKLY_FENCED_PLUGINS: names,
  /** Marks containers and volumes; the reaper touches only those of its own installation. */
  LONGSHORE_INSTALLATION: text.regex(/^[a-z0-9][a-z0-9-]{0,30}$/, 'use lower-case letters, digits and -').default('longshore'),
  /** `docker`, `local` (development only), a registered name, or a module (`./backend.ts`) whose default export makes a backend. */
  LONGSHORE_SANDBOX_BACKEND: text.default('docker'),
  /** Lets the backend `local` start when NODE_ENV is `production`. */
  LONGSHORE_LOCAL_IN_PRODUCTION: z.enum(['yes', 'no']).default('no'),
  LONGSHORE_SANDBOX_IMAGE: text.default('longshore-sandbox:latest'),
  /** Whether a checkpoint may be copied to a new container. The copy runs in a helper container that mounts the engine's checkpoint directories of both. */
  LONGSHORE_COPY_CHECKPOINTS: z.enum(['yes', 'no']).default('no'),
  /** Whether workers reload a plugin when its directory changes. For development. */
  LONGSHORE_WATCH: z.enum(['yes', 'no']).default('no'),
  /** How long a plugin keeps its process while no call uses it: `15m`, `90s`; `0` keeps it. */
  LONGSHORE_PLUGIN_IDLE: text.refine((value) => value === '0' || duration.safeParse(value).success, 'write 15m, 90s, or 0 for never').default('15m'),
  /** The most processes of plugins that run at a time; each plugin has one for each tenant that uses it. */
  LONGSHORE_PLUGIN_PROCESSES: z.coerce.number().int().min(1).max(10_000).default(128),
  /** Conversations that a worker keeps in its memory, those that were used last; another one is brought back from its history. */
  LONGSHORE_CACHED_CONVERSATIONS: z.coerce.number().int().min(2).max(100_000).optional(),
  /** Days after the end of a conversation at which its calls and their output are removed; 0 keeps them. */
  LONGSHORE_RETENTION_DAYS: z.coerce.number().min(0).default(90),
  /** How long a closed conversation is kept, such as `365d`; then all of it is removed. `0` keeps it. A tenant may have another retention. */
  LONGSHORE_RETENTION: text.refine((value) => value === '0' || (duration.safeParse(value).data ?? 0) > 0, 'write 365d, or 0 to keep them').default('0'),
  /** Addresses and CIDR ranges, separated by commas. Plugins may reach them although they are not public, if their permissions name the host. */
  LONGSHORE_PLUGIN_ADDRESSES: text.optional(),
  /** Addresses and CIDR ranges, separated by commas. Webhooks may go to them although they are not public. */
  LONGSHORE_WEBHOOK_ADDRESSES: text.optional(),
  /** How long a webhook waits after its first failure, the second, and so on; the last is that of all further ones. */
  LONGSHORE_WEBHOOK_PAUSES: text
    .refine((list) => list.split(',').every((pause) => duration.safeParse(pause.trim()).success), 'write durations such as 5s,30s,2m')
    .default('5s,30s,2m,10m,30m,1h'),
  /** A webhook that has failed for so long is disabled. */
  LONGSHORE_WEBHOOK_GIVE_UP: text.refine((value) => duration.safeParse(value).success, 'write a duration such as 24h').default('24h'),
  /** A directory whose files tools may forward into sandboxes. */
  LONGSHORE_FILES: text.optional(),
  /** A YAML or JSON file with the prices of models, in place of the table of the package. */
  LONGSHORE_PRICES: text.optional(),
  /** Where archived sandboxes are stored: `file:///directory` or `s3://bucket/prefix`. Default: in Postgres. */
  LONGSHORE_BLOBS: text.optional(),
  /** The most snapshots that one sandbox may have. */
  LONGSHORE_SNAPSHOT_LIMIT: z.coerce.number().int().min(1).default(10),
  /** Days after which a snapshot without a name is removed. */
  LONGSHORE_SNAPSHOT_DAYS: z.coerce.number().positive().default(30),
  /** Addresses and CIDR ranges, separated by commas. Sandboxes may reach them although they are not public, if their egress list names the host. */
  LONGSHORE_EGRESS_ADDRESSES: text.optional(),
  /** Where a worker serves `/metrics` and `/healthz`, `host:port`. Without it the worker does not serve them. */
  LONGSHORE_METRICS_ADDRESS: text.refine(isHostAndPort, 'write host:port, such as 127.0.0.1:9464').optional(),
  /** Address of a collector that takes OTLP over HTTP. Without it, nothing is traced. Headers and the like have variables of OpenTelemetry's own. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .refine((value) => /^https?:/.test(value) && URL.canParse(value), 'write an address such as http://127.0.0.1:4318')
    .optional(),
  /** The part of the turns that is traced, 0 to 1. */
  LONGSHORE_TRACE_RATIO: z.coerce.number().min(0).max(1).default(1),
  /** Where a worker serves the sandboxes of its host to `longshore serve`, `host:port`; port 0 is any free one. */
  LONGSHORE_HOST_ADDRESS: text.refine(isHostAndPort, 'write host:port, such as 127.0.0.1:0').default('127.0.0.1:0'),
  /** Where `longshore serve` serves the HTTP API, `host:port`. */
  LONGSHORE_API_ADDRESS: text.refine(isHostAndPort, 'write host:port, such as 127.0.0.1:8280').default('127.0.0.1:8280'),
  /** What each tenant may use, where operators set nothing else for it: `requestsPerMinute=600,runningTurns=20`. Workers read `runningTurns`, the HTTP API the others. */
  LONGSHORE_LIMITS: text
    .default('streams=100')
    .refine((value) => readLimits(value) !== undefined, 'write names of limits with numbers, such as requestsPerMinute=600,streams=100'),
  /** Turns that run at the same time, of all tenants together. */
  LONGSHORE_MAX_RUNNING_TURNS: z.coerce.number().int().min(1).max(1_000_000).optional(),
  /** The most connections that a process of `longshore serve` has open. */
  LONGSHORE_API_CONNECTIONS: z.coerce.number().int().min(1).max(1_000_000).default(10_000),
  /** The same of one address of the network; 0 for as many. A proxy makes all connections from its own address. */
  LONGSHORE_API_CONNECTIONS_PER_ADDRESS: z.coerce.number().int().min(0).max(1_000_000).default(0),
  /** How long `longshore serve` still answers after it was told to stop, while `/readyz` says so and load balancers send no more requests to it: `5s`. */
  LONGSHORE_API_DRAIN: text.refine((value) => value === '0' || duration.safeParse(value).success, 'write 5s, or 0').default('0'),
  /** Keys that encrypt what Temporal stores: `id1:base64,id2:base64`. The first encrypts, all decrypt. */
  LONGSHORE_ENCRYPTION_KEYS: text.optional(),
  /** Origins of Temporal's UI, `https://temporal.example.org`, separated by commas. Their pages may decrypt payloads at `/codec` of the HTTP API. */
  LONGSHORE_CODEC_ORIGINS: names.refine((origins) => origins.every(isOrigin), 'write https://host or http://host:port, without a path'),
  /** An OpenID Connect issuer whose tokens (JWT) the HTTP API takes beside its keys. */
  LONGSHORE_OIDC_ISSUER: webAddress.optional(),
  /** The audience that its tokens for this service have. */
  LONGSHORE_OIDC_AUDIENCE: text.optional(),
  /** Where its keys are (JWKS). Default: where its discovery document says. */
  LONGSHORE_OIDC_KEYS: webAddress.optional(),
  /** The algorithms that may sign, separated by commas. */
  LONGSHORE_OIDC_ALGORITHMS: names
    .transform((given) => (given.length === 0 ? ['RS256', 'PS256', 'ES256', 'EdDSA'] : given))
    .refine(
      (given) => given.every((name) => /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/.test(name)),
      'use algorithms with public keys, such as RS256,ES256',
    ),
  /** The claims of its tokens with the tenant, the user and the scopes. */
  LONGSHORE_OIDC_TENANT_CLAIM: text.default('tenant'),
  LONGSHORE_OIDC_USER_CLAIM: text.default('sub'),
  LONGSHORE_OIDC_SCOPE_CLAIM: text.default('scope'),
  /** Where callers reach the HTTP API, such as `https://longshore.example`: for links that it makes. Default: the address of the request that asks for one. */
  LONGSHORE_PUBLIC_URL: text.refine((value) => /^https?:\/\//.test(value) && URL.canParse(value), 'write https://host').optional(),
  /** `yes`: details of conversations in Temporal have links to approvals, with which anyone who reads them can answer. Needs `LONGSHORE_PUBLIC_URL`. */
  LONGSHORE_TEMPORAL_LINKS: z.enum(['yes', 'no']).default('no'),
  /** Hosts for previews of ports of sandboxes: `https://*.preview.example.org`. Default: a path of the HTTP API, where pages have no origin. */
  LONGSHORE_PREVIEW_URL: text.refine(isPreviewAddress, 'write https://*.host; http only for *.localhost').optional(),
  /** Where tools, caches and the development stack's data are kept. */
  LONGSHORE_HOME: text.default(join(homedir(), '.cache', 'longshore')),
  LONGSHORE_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** In `production`, features for development only are refused. */
  NODE_ENV: text.default('development'),
});

/** The settings of a process, by the names of their environment variables. */
export type Config = z.infer<typeof schema>;

/**
 * Reads the settings from the environment. An empty variable counts as not set.
 * @throws CONFIG_INVALID naming the variable whose value is not valid.
 */
export function loadConfig(env: Record<string, string | undefined> = process.env): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  if (parsed.success) {
    // Every process says at its start that its keys are not usable; the message has no key.
    readEncryptionKeys(parsed.data.LONGSHORE_ENCRYPTION_KEYS);
    if (parsed.data.LONGSHORE_TEMPORAL_LINKS === 'yes' && parsed.data.LONGSHORE_PUBLIC_URL === undefined)
      throw failure('CONFIG_INVALID', { name: 'LONGSHORE_TEMPORAL_LINKS', problem: 'links need the address of the service', fix: 'Set LONGSHORE_PUBLIC_URL' });
    return parsed.data;
  }
  const issue = parsed.error.issues[0];
  const name = String(issue?.path[0]);
  throw failure('CONFIG_INVALID', {
    name,
    problem: `${CONFIDENTIAL.has(name) ? 'its value' : JSON.stringify(given[name])} is not usable (${issue && toWrite(issue)})`,
    fix: 'Correct it or unset it; docs/settings.md lists the variables',
  });
}

/** What to write instead, for the checks that zod words for programmers. */
function toWrite(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'int' ? 'write a whole number' : 'write a number';
    case 'invalid_value':
      return `write ${issue.values
        .map(String)
        .join(', ')
        .replace(/, ([^,]+)$/, ' or $1')}`;
    case 'too_small':
      return `write a number ${issue.inclusive === true ? 'from' : 'above'} ${issue.minimum}`;
    case 'too_big':
      return `write a number up to ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/**
 * Returns the given address of the database.
 * @throws CONFIG_INVALID in production when its password is well known.
 */
export function checkDatabaseUrl({ NODE_ENV }: Pick<Config, 'NODE_ENV'>, url: string): string {
  if (NODE_ENV !== 'production' || !KNOWN_PASSWORDS.has(passwordOf(url).toLowerCase())) return url;
  throw failure('CONFIG_INVALID', {
    name: 'DATABASE_URL',
    problem: 'its password is a well-known default, and NODE_ENV is "production"',
    fix: 'Give the database user a password of its own, and use an address with it',
  });
}

function isTrusted({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname));
}

function passwordOf(url: string): string {
  if (!URL.canParse(url)) return '';
  const { password } = new URL(url);
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}

/** Reads a variable of the environment. Agent files refer to it as `${env.NAME}`, and model providers read their keys from it. */
export function readEnvironment(name: string): string | undefined {
  return process.env[name];
}
