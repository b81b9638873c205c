import type { JsonObject } from './json.ts';

/** Whether a tool call goes ahead, waits for a person, or is refused. */
export type ApprovalDecision = 'allow' | 'ask' | 'deny';

/** The hints that a rule may name. */
export type AnnotationHint = 'readOnlyHint' | 'destructiveHint' | 'idempotentHint' | 'openWorldHint';

/**
 * One line of an agent's approval policy. All rules that match are weighed together: deny beats ask beats allow. A rule matches where all that it names
 * fits: `tool` and `plugin` are ids or patterns with `*` (`files:*`), `annotation` a hint that the tool has, `when` compares arguments by name,
 * `*` in a text matches anything.
 */
export interface ApprovalRule {
  tool?: string;
  plugin?: string;
  annotation?: AnnotationHint;
  when?: Record<string, string | number | boolean>;
  decide: ApprovalDecision;
}

/** Limits of a conversation; running out of one pauses it and says which. */
export interface Budget {
  /** User messages answered over the conversation's life. */
  turns?: number;
  /** Model calls within one turn. */
  steps?: number;
  /** Input and output tokens over the conversation's life. */
  tokens?: number;
  /** Time spent working (paused and idle time excluded), in milliseconds, over the conversation's life. */
  wallTimeMs?: number;
  /** What transcript, calls and events take up in the database, in MB, over the conversation's life. Absent in conversations started before there was such a limit. */
  storageMb?: number;
}

/** A file or directory of the worker's machine that a sandbox gets at its start. */
export type SandboxAsset = {
  /** Absolute. */
  from: string;
  /** In the sandbox; relative paths start at its home. */
  to: string;
};

/** A host that a sandbox may reach. (An alias: unlike an interface it counts as JSON.) */
export type EgressRule = {
  /** A name, `*.domain` for all names below it, or an address. */
  host: string;
  /** Default 80 and 443; only 443 where headers are added. */
  ports?: number[];
  /** Set by the worker on requests to this host, in place of the guest's own. `${env.NAME}` is filled in by the worker when it is needed. */
  headers?: Record<string, string>;
  /** Whether `headers` are also added to requests without TLS, which anybody on the way can read. Default false: such requests are refused. */
  cleartext?: boolean;
  /** Whether connections to `ports` may speak something else than TLS with this name and HTTP: ssh, databases. Nothing in them is checked. Default false. */
  raw?: boolean;
};

export interface SandboxOptions {
  /** Name of the template that the other options partly come from. */
  template?: string;
  /** Docker image; the standard image when absent. */
  image?: string;
  memoryMb?: number;
  cpus?: number;
  pids?: number;
  /** What all files of the sandbox may take up; commands that write more are ended. 0 leaves it to the storage. Default 10 240. */
  diskMb?: number;
  /** Whether only `/home`, `/tmp` and `/run` can be written. Default true. */
  readOnlyRoot?: boolean;
  /**
   * `runc`: an ordinary container. `runsc`: gVisor, a stronger fence, and the one that can hibernate. `auto`: gVisor where the host can hibernate it.
   * Default `auto` for a sandbox that hibernates, else `runc`.
   */
  runtime?: 'runc' | 'runsc' | 'auto';
  /** Hosts that the sandbox may reach; nothing when absent. A text is a rule with that host alone. */
  egress?: (string | EgressRule)[];
  /** Environment of every command, masked in its output. `${env.NAME}` is filled in by the worker that opens the sandbox. */
  secrets?: Record<string, string>;
  /** Environment of every command, code and terminal that does not say otherwise; kept with the sandbox as it is, unlike `secrets`. */
  env?: Record<string, string>;
  /** What happens to a sandbox without a conversation when its time to live is over. Default `destroy`; the others keep its files. */
  onTtl?: 'destroy' | 'stop' | 'hibernate';
  /** Milliseconds without work until the sandbox is frozen. 0 never freezes. Default 30 000. */
  freezeAfterMs?: number;
  /**
   * Milliseconds without work until the sandbox is hibernated: its processes rest on disk and go on later. 0 (the default) never hibernates it.
   * Where the host cannot, it is stopped instead.
   */
  hibernateAfterMs?: number;
  /** Milliseconds without work until the sandbox is stopped: files stay, processes end. 0 (the default) never stops it. */
  stopAfterMs?: number;
  /**
   * Milliseconds without work until the sandbox is archived: packed into the blob store and removed from its host, until something uses it. A hibernated one
   * is archived with its processes where the host can. 0 (the default) never archives it.
   */
  archiveAfterMs?: number;
  /** Where commands and code begin that do not say where. Default `/home/user`. */
  workDirectory?: string;
  /** On the container, as `longshore.label.<name>`. */
  labels?: Record<string, string>;
  /** Kept with the sandbox, for whoever reads its row. */
  metadata?: JsonObject;
  /** What a closed conversation does with its sandbox. Default `destroy`. */
  onClose?: 'destroy' | 'keep';
  /** `false`: the sandbox is destroyed at the end of every turn, and the next one begins with an empty one. Default true. */
  persist?: boolean;
  /** A sandbox that is there already, of the same tenant; it is never destroyed by a conversation. */
  sandboxId?: string;
  /** Uploaded when the sandbox is made, and again when it had to be rebuilt without its files. */
  assets?: SandboxAsset[];
  /** Milliseconds after work in which the sandbox keeps its tier; only then the times of its rest begin. `true`: it does not rest by itself. */
  keepalive?: true | number;
}

/** `deny`: the call is refused. `allow`: it runs. `pause`: the conversation pauses, and the approval waits on. */
export type ApprovalExpiry = 'deny' | 'allow' | 'pause';

/** When tools are shown to the model by one line each, to be found with `tools:search`. */
export interface DeferOptions {
  /** With more tools than this all are deferred but the pinned ones. */
  over: number;
  /** Ids and patterns of tools that are never deferred. */
  pin: string[];
}

/** A server of the Model Context Protocol. `${env.NAME}` in `env`, `headers` and `url` is filled in when it is connected to, and kept nowhere. */
export type McpServer = McpProgram | McpGuest | McpRemote;

export interface McpLimits {
  /** Time limit of a call, in milliseconds. */
  timeoutMs: number;
  /** Of calls of single tools, by the names that the server gives them. */
  toolTimeoutsMs?: Record<string, number>;
}
interface McpCommand extends McpLimits {
  command: string;
  args: string[];
  env: Record<string, string>;
}
/** A program that speaks over its stdin and stdout, once beside the worker, where the operator has allowed it. */
export interface McpProgram extends McpCommand {
  where: 'host';
  /** Where it runs; the worker's own directory when absent. */
  directory?: string;
}
/** A program in the sandbox of each conversation that calls it. */
export interface McpGuest extends McpCommand {
  where: 'sandbox';
  /** Where it runs, in the sandbox; its home when absent. */
  directory?: string;
}
/** A server reached by streamable HTTP. */
export interface McpRemote extends McpLimits {
  url: string;
  headers: Record<string, string>;
}

export interface PluginPin {
  /** The version of the package. */
  version?: string;
  /** `sha256:…` of all the files of its directory. */
  digest?: string;
  /** What it may want at most; all that it says it needs when absent. */
  permissions?: PermissionBound;
}

/** The most that a plugin is granted; what is not named is refused. (An alias: unlike an interface it counts as JSON.) */
export type PermissionBound = {
  time?: boolean;
  random?: boolean;
  /** Host names; one without a port allows all of its ports. */
  network?: string[];
  /** Names of environment variables. */
  env?: string[];
  /** Absolute paths, with all that lies below them. */
  fs?: string[];
};

/** An agent as the worker and the workflow see it: parsed, defaults filled in, durations in milliseconds. */
export interface Agent {
  id: string;
  /** `provider/model`, or `scripted/<file>` for a scripted model. */
  model: string;
  modelOptions: JsonObject;
  instructions: string;
  /** Plugin directories or packages, relative to the agent's file. */
  plugins: string[];
  /** Servers whose tools are a plugin each, by the plugin's id. Absent: none. */
  mcp?: Record<string, McpServer>;
  /** What some of them have to be, by their names in `plugins`; else they are not loaded. */
  pluginPins?: Record<string, PluginPin>;
  /** Tool ids and patterns (`files:*`) that the agent may call. */
  tools: string[];
  sandbox: SandboxOptions;
  approval: ApprovalRule[];
  /** By tool id or pattern, over what plugins and tools say of themselves: `true` asks, unless a rule denies; `false` allows, unless a rule says otherwise. */
  requireApproval: Record<string, boolean>;
  /** How long an approval waits for an answer. 0 waits for ever. */
  approvalTimeoutMs: number;
  /** What becomes of an approval that nobody answers in time. */
  approvalExpiry: ApprovalExpiry;
  deferTools: DeferOptions;
  budget: Budget;
}

/** What the workflow needs to know of an agent: small, and fixed for one run of the workflow. */
export interface AgentLimits {
  budget: Budget;
  freezeAfterMs: number;
  /** Absent in conversations that were started before there was such a rest. */
  hibernateAfterMs?: number;
  stopAfterMs: number;
  /** Absent as well in conversations that were started before there was such a rest. */
  archiveAfterMs?: number;
  onClose: 'destroy' | 'keep';
  /** Present where the sandbox is destroyed at the end of every turn. */
  persist?: false;
  approvalTimeoutMs: number;
  /** Absent: `deny`. */
  approvalExpiry?: ApprovalExpiry;
  /** Nobody is there to answer: only calls that read and need no approval may run. */
  unattended?: boolean;
}
