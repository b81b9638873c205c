import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { duration } from '../common/duration.ts';
import { failure } from '../contracts/errors.ts';

const text = z.string().min(1);
/** Passwords that somebody else knows: that of the development stack, and those that people try first. */
const KNOWN_PASSWORDS = new Set(['longshore', 'postgres', 'password', 'changeme', 'change-me', 'secret', 'admin', 'root', 'test', 'example', '123456']);
/** Parted by commas. */
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
  /** Task queue of the conversations; one per independent installation on a Temporal server. */
  LONGSHORE_TASK_QUEUE: text.default('longshore'),
  DATABASE_URL: text.default('postgres://longshore:longshore@127.0.0.1:5433/longshore'),
  /** As for the docker command: `unix:///path`, `tcp://host:port`. */
  DOCKER_HOST: text.optional(),
  /** Directory of agent files. */
  LONGSHORE_AGENTS: text.default('agents'),
  /** Directory of templates; by default `templates` beside that of the agents. */
  LONGSHORE_TEMPLATES: text.optional(),
  /** Name of this machine in sandbox rows; two workers of one engine share it. */
  LONGSHORE_HOST_ID: text.default(hostname()),
  /** Plugins, by the names that agents give them and parted by commas, that run in the worker's own process instead of a fenced one. */
  LONGSHORE_HOST_PLUGINS: names,
  /** Plugins, named in the same way, that may run although this machine's fence is level C, from which code that breaks out is the worker's own user. */
  LONGSHORE_WEAKLY_FENCED_PLUGINS: names,
  /** Marks containers and volumes; the reaper touches only those of its own installation. */
  LONGSHORE_INSTALLATION: text.regex(/^[a-z0-9][a-z0-9-]{0,30}$/, 'use lower-case letters, digits and -').default('longshore'),
  /** `docker`, `local` (development only), a name that was registered, or a module (`./backend.ts`) whose default export makes one. */
  LONGSHORE_SANDBOX_BACKEND: text.default('docker'),
  /** Lets the backend `local` start where NODE_ENV is `production`. */
  LONGSHORE_LOCAL_IN_PRODUCTION: z.enum(['yes', 'no']).default('no'),
  LONGSHORE_SANDBOX_IMAGE: text.default('longshore-sandbox:latest'),
  /** Whether a checkpoint may be copied to a fresh container by a helper that mounts the engine's checkpoint directories of both. */
  LONGSHORE_COPY_CHECKPOINTS: z.enum(['yes', 'no']).default('no'),
  /** Whether workers load plugins again whose directories change. For development. */
  LONGSHORE_WATCH: z.enum(['yes', 'no']).default('no'),
  /** How long a plugin keeps its process that nobody uses: `15m`, `90s`; `0` keeps it. */
  LONGSHORE_PLUGIN_IDLE: text.refine((value) => value === '0' || duration.safeParse(value).success, 'write 15m, 90s, or 0 for never').default('15m'),
  /** Processes of plugins that run at a time; each plugin has one for each tenant that uses it. */
  LONGSHORE_PLUGIN_PROCESSES: z.coerce.number().int().min(1).max(10_000).default(128),
  /** Days after its end at which what the calls of a conversation and their output take up is removed; 0 keeps it. */
  LONGSHORE_RETENTION_DAYS: z.coerce.number().min(0).default(90),
  /** Addresses and CIDR ranges, separated by commas, that plugins may reach although they are not public, where their permissions name the host. */
  LONGSHORE_PLUGIN_ADDRESSES: text.optional(),
  /** A directory whose files tools may forward into sandboxes. */
  LONGSHORE_FILES: text.optional(),
  /** Where archived sandboxes are kept: `file:///directory` or `s3://bucket/prefix`; in Postgres when absent. */
  LONGSHORE_BLOBS: text.optional(),
  /** Snapshots that one sandbox may have. */
  LONGSHORE_SNAPSHOT_LIMIT: z.coerce.number().int().min(1).default(10),
  /** Days after which a snapshot without a name is removed. */
  LONGSHORE_SNAPSHOT_DAYS: z.coerce.number().positive().default(30),
  /** Addresses and CIDR ranges, separated by commas, that sandboxes may reach although they are not public, where their list names the host. */
  LONGSHORE_EGRESS_ADDRESSES: text.optional(),
  /** Where a worker serves `/metrics` and `/healthz`, `host:port`; nowhere when absent. */
  LONGSHORE_METRICS_ADDRESS: z
    .string()
    .regex(/^.+:\d{1,5}$/, 'write host:port, such as 127.0.0.1:9464')
    .optional(),
  /** Where tools, caches and the development stack's data are kept. */
  LONGSHORE_HOME: text.default(join(homedir(), '.cache', 'longshore')),
  LONGSHORE_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** `production` refuses what is for development only. */
  NODE_ENV: text.default('development'),
});

/** The settings of a process, by the names of their environment variables. */
export type Config = z.infer<typeof schema>;

/** Reads the settings from the environment; a bad one is a `CONFIG_INVALID` that names it. */
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
 * Returns an address of the database that is to be used.
 * @throws CONFIG_INVALID in production, when its password is a well-known one.
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

/** The environment that agent files may name as `${env.NAME}` and providers read their keys from. */
export function readEnvironment(name: string): string | undefined {
  return process.env[name];
}
