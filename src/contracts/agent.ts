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
}

export interface SandboxOptions {
  /** Docker image; the standard image when absent. */
  image?: string;
  memoryMb?: number;
  cpus?: number;
  pids?: number;
  /** Whether only `/home`, `/tmp` and `/run` can be written. Default true. */
  readOnlyRoot?: boolean;
  /**
   * `runc`: an ordinary container. `runsc`: gVisor, a stronger fence, and the one that can hibernate. `auto`: gVisor where the host can hibernate it.
   * Default `auto` for a sandbox that hibernates, else `runc`.
   */
  runtime?: 'runc' | 'runsc' | 'auto';
  /** Milliseconds without work until the sandbox is frozen. 0 never freezes. Default 30 000. */
  freezeAfterMs?: number;
  /**
   * Milliseconds without work until the sandbox is hibernated: its processes rest on disk and go on later. 0 (the default) never hibernates it.
   * Where the host cannot, it is stopped instead.
   */
  hibernateAfterMs?: number;
  /** Milliseconds without work until the sandbox is stopped: files stay, processes end. 0 (the default) never stops it. */
  stopAfterMs?: number;
  /** What a closed conversation does with its sandbox. Default `destroy`. */
  onClose?: 'destroy' | 'keep';
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

export interface PluginPin {
  /** The version of the package. */
  version?: string;
  /** `sha256:…` of all the files of its directory. */
  digest?: string;
}

/** A server of the Model Context Protocol. `${env.NAME}` in `env`, `headers` and `url` is filled in when it is connected to, and kept nowhere. */
export type McpServer = McpProgram | McpRemote;

interface McpLimits {
  /** Time limit of a call, in milliseconds. */
  timeoutMs: number;
}
/** A program that speaks over its stdin and stdout. */
export interface McpProgram extends McpLimits {
  command: string;
  args: string[];
  env: Record<string, string>;
  /** Once beside the worker, where the operator has allowed it. */
  where: 'host';
  /** Where it runs; the worker's own directory when absent. */
  directory?: string;
}
/** A server reached by streamable HTTP. */
export interface McpRemote extends McpLimits {
  url: string;
  headers: Record<string, string>;
}

/** An agent as the worker and the workflow see it: parsed, defaults filled in, durations in milliseconds. */
export interface Agent {
  id: string;
  /** `provider/model`, or `scripted/<file>` for a scripted model. */
  model: string;
  modelOptions: JsonObject;
  instructions: string;
  /** Plugin directories or packages, relative to the agent's file. */
  plugins: string[];
  /** What some of them have to be, by their names in `plugins`; else they are not loaded. */
  pluginPins?: Record<string, PluginPin>;
  /** Servers whose tools are a plugin each, by the plugin's id. Absent: none. */
  mcp?: Record<string, McpServer>;
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
  onClose: 'destroy' | 'keep';
  approvalTimeoutMs: number;
  /** Absent: `deny`. */
  approvalExpiry?: ApprovalExpiry;
  /** Nobody is there to answer: only calls that read and need no approval may run. */
  unattended?: boolean;
}
