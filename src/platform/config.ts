import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { duration } from '../common/duration.ts';
import { failure } from '../contracts/errors.ts';

const text = z.string().min(1);
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
const schema = z.object({
  /** Address of the Temporal frontend, `host:port`. */
  TEMPORAL_ADDRESS: text.default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: text.default('default'),
  /** Task queue of the conversations; each independent installation on a Temporal server has its own. */
  LONGSHORE_TASK_QUEUE: text.default('longshore'),
  DATABASE_URL: text.default('postgres://longshore:longshore@127.0.0.1:5433/longshore'),
  /** The same as for the docker command: `unix:///path`, `tcp://host:port`. */
  DOCKER_HOST: text.optional(),
  /** Directory of agent files. */
  LONGSHORE_AGENTS: text.default('agents'),
  /** Directory of templates. Default: `templates` beside the directory of the agents. */
  LONGSHORE_TEMPLATES: text.optional(),
  /** Name of this machine in sandbox rows; all workers of one engine use the same name. */
  LONGSHORE_HOST_ID: text.default(hostname()),
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
  /** Days after the end of a conversation at which its calls and their output are removed; 0 keeps them. */
  LONGSHORE_RETENTION_DAYS: z.coerce.number().min(0).default(90),
  /** Addresses and CIDR ranges, separated by commas. Plugins may reach them although they are not public, if their permissions name the host. */
  LONGSHORE_PLUGIN_ADDRESSES: text.optional(),
  /** A directory whose files tools may forward into sandboxes. */
  LONGSHORE_FILES: text.optional(),
  /** Where archived sandboxes are stored: `file:///directory` or `s3://bucket/prefix`. Default: in Postgres. */
  LONGSHORE_BLOBS: text.optional(),
  /** The most snapshots that one sandbox may have. */
  LONGSHORE_SNAPSHOT_LIMIT: z.coerce.number().int().min(1).default(10),
  /** Days after which a snapshot without a name is removed. */
  LONGSHORE_SNAPSHOT_DAYS: z.coerce.number().positive().default(30),
  /** Addresses and CIDR ranges, separated by commas. Sandboxes may reach them although they are not public, if their egress list names the host. */
  LONGSHORE_EGRESS_ADDRESSES: text.optional(),
  /** Where a worker serves `/metrics` and `/healthz`, `host:port`. Without it the worker does not serve them. */
  LONGSHORE_METRICS_ADDRESS: z
    .string()
    .regex(/^.+:\d{1,5}$/, 'write host:port, such as 127.0.0.1:9464')
    .optional(),
  /** Where `longshore serve` serves the HTTP API, `host:port`. */
  LONGSHORE_API_ADDRESS: z
    .string()
    .regex(/^.+:\d{1,5}$/, 'write host:port, such as 127.0.0.1:8280')
    .default('127.0.0.1:8280'),
  /** How long `longshore serve` still answers after it was told to stop, while `/readyz` says so and load balancers send no more requests to it: `5s`. */
  LONGSHORE_API_DRAIN: text.refine((value) => value === '0' || duration.safeParse(value).success, 'write 5s, or 0').default('0'),
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
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const name = String(issue?.path[0]);
  throw failure('CONFIG_INVALID', {
    name,
    problem: `${JSON.stringify(given[name])} is not usable (${issue?.message})`,
    fix: 'Correct it or unset it; docs/settings.md lists the variables',
  });
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
