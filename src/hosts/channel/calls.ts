import { z } from 'zod';

/**
 * What the service asks of a worker. The handle of the sandbox checks paths, sizes and times itself; here is only the shape. Relative paths start at the home of
 * the sandbox's user.
 */
const path = z.string();
const execId = z.string();
const moment = z.strictObject({ number: z.int(), at: z.string() });
export const LAST_PORT = 65_535;
export const SIGNALS = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGSTOP', 'SIGCONT'] as const;

export const CALLS = z.discriminatedUnion('do', [
  /** Answers with a `FileInfo`; the content follows as data. */
  z.strictObject({ do: z.literal('files.read'), path, offset: z.int().min(0).optional(), maxBytes: z.int().min(0).optional() }),
  /** The content comes as data. */
  z.strictObject({ do: z.literal('files.write'), path, mode: z.int().optional() }),
  /** Answers with a `FileInfo`, or null. */
  z.strictObject({ do: z.literal('files.info'), path }),
  z.strictObject({ do: z.literal('files.list'), path, recursive: z.boolean().optional(), pattern: z.string().optional(), maxEntries: z.int().optional() }),
  z.strictObject({ do: z.literal('files.remove'), path, recursive: z.boolean().optional() }),
  z.strictObject({ do: z.literal('files.createDirectory'), path }),
  z.strictObject({ do: z.literal('files.rename'), path, to: path }),
  /** Answers null. Then come `CompareMessage`s, and with `patch` the patch as data; the summary is the last message. */
  z.strictObject({ do: z.literal('checkpoints.compare'), from: moment, to: moment.optional(), paths: z.array(path).optional(), patch: z.boolean() }),
  /** Answers null. Then a tar of the directory comes as data, and at the end a `PackedDirectory`. */
  z.strictObject({ do: z.literal('files.pack'), path }),
  /**
   * Makes the sandbox of a conversation that is being imported, with options of the agent. A gzipped tar of everything under `/home` comes as data. Answers null when the
   * sandbox has all of it.
   */
  z.strictObject({ do: z.literal('sandboxes.unpack'), agentId: z.string() }),
  /** Answers with an `ExecInfo`. The worker keeps the sandbox awake until the command ends. */
  z.strictObject({
    do: z.literal('commands.start'),
    command: z.string(),
    execId: z.string(),
    cwd: path.optional(),
    env: z.record(z.string(), z.string()).optional(),
    user: z.string().optional(),
    timeoutMs: z.int().optional(),
    stdin: z.string().optional(),
    /** The command reads what `commands.input` sends. */
    openStdin: z.boolean().optional(),
  }),
  /** Answers with a list of `ExecInfo`. */
  z.strictObject({ do: z.literal('commands.list') }),
  z.strictObject({ do: z.literal('commands.info'), execId }),
  /** Answers with a `CommandResult`, when the command has ended. */
  z.strictObject({ do: z.literal('commands.wait'), execId }),
  /** Answers with an `ExecInfo`; output follows as data, and at the end a `CommandResult`. */
  z.strictObject({ do: z.literal('commands.follow'), execId, from: z.strictObject({ stdout: z.int().min(0), stderr: z.int().min(0) }) }),
  /** The input comes as data. */
  z.strictObject({ do: z.literal('commands.input'), execId, end: z.boolean() }),
  /** Answers whether something of the command was there to be signalled. */
  z.strictObject({ do: z.literal('commands.kill'), execId, signal: z.enum(SIGNALS).optional() }),
  /**
   * Attaches to a terminal, and opens it first if there is none. Answers with its id; then data are its output from the byte `from` on, and at the end comes how
   * it has ended. Data that come are its input, and messages are `TERMINAL_ORDER`s.
   */
  z.strictObject({
    do: z.literal('terminals.attach'),
    execId: z.string(),
    from: z.int().min(0),
    columns: z.int().optional(),
    rows: z.int().optional(),
    command: z.string().optional(),
    cwd: path.optional(),
    user: z.string().optional(),
  }),
  /** Answers null when the connection is made. Then data in both directions are its bytes, and the end of a direction is its end. */
  z.strictObject({ do: z.literal('ports.connect'), port: z.int().min(1).max(LAST_PORT) }),
]);
export type Call = z.infer<typeof CALLS>;
export type CallName = Call['do'];
/** Calls of a sandbox that exists. */
export type SandboxCall = Exclude<Call, { do: 'sandboxes.unpack' }>;
export type SandboxCallName = SandboxCall['do'];
export type CallOf<Name extends CallName> = Extract<Call, { do: Name }>;

/** What a terminal is told besides its input. */
export const TERMINAL_ORDER = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('resize'), columns: z.int(), rows: z.int() }),
  z.strictObject({ type: z.literal('kill') }),
]);

/** The first message of each request. */
export const REQUEST = z.strictObject({
  sandboxId: z.string(),
  /** Tenant and conversation for which the service asks. The worker compares them with the sandbox's row. */
  tenantId: z.string(),
  conversationId: z.string(),
  call: CALLS,
});
export type ChannelRequest = z.infer<typeof REQUEST>;

export const CALL_PATH = '/v1/call';
/** Name of the service in its certificate. */
export const SERVICE_NAME = 'service.longshore';
