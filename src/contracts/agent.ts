import type { McpServer } from './mcp/server.ts';
import type { CheckpointPolicy } from './checkpoints/checkpoint.ts';
import type { ClientTools } from './client-tool.ts';
import type { JsonObject } from './json.ts';
import type { MemoryScope } from './memory/memory.ts';
import type { ContextOptions, DeferOptions } from './prompts/prompt-options.ts';
import type { Priority } from './places/priority.ts';
import type { SandboxUse } from './sub-agents/sandbox-use.ts';

/** Whether a tool call runs, waits for a person, or is refused. */
export type ApprovalDecision = 'allow' | 'ask' | 'deny';
/** What a rule says. `auto`: a model judges the call first, and allows it or hands it over to a person. */
export type RuleDecision = ApprovalDecision | 'auto';

/** The hints that a rule may name. */
export type AnnotationHint = 'readOnlyHint' | 'destructiveHint' | 'idempotentHint' | 'openWorldHint';

/**
 * One rule of an agent's approval policy. All matching rules are combined: deny overrides ask, ask overrides auto, and auto overrides allow. A rule matches when every field that
 * it sets matches: `tool` and `plugin` are ids or patterns with `*` (`files:*`), `annotation` is a hint that the tool has, `when` compares arguments by name.
 * `*` in a string matches any text.
 */
export interface ApprovalRule {
  tool?: string;
  plugin?: string;
  annotation?: AnnotationHint;
  when?: Record<string, string | number | boolean>;
  decide: RuleDecision;
}

/** The model that judges calls for which a rule says `auto`. */
export interface Judge {
  /** As the `model` of an agent. */
  model: string;
  modelOptions: JsonObject;
  /** What the operator says about calls, in words. */
  rules: string[];
  /** An allowance with less confidence is handed over, from 0 to 1. */
  minConfidence: number;
  /** After so many calls in a row that were handed over, people are asked without it, until the user sends another message. */
  handovers: number;
}

/** Limits of a conversation. When one is used up, the conversation pauses and reports which. */
export interface Budget {
  /** User messages answered over the conversation's life. */
  turns?: number;
  /** Model calls within one turn. */
  steps?: number;
  /** Input and output tokens over the conversation's life. */
  tokens?: number;
  /** Time spent working (paused and idle time excluded), in milliseconds, over the conversation's life. */
  wallTimeMs?: number;
  /**
   * Size of transcript, calls and events in the database, in MB, over the conversation's life. Absent in conversations that were started by versions without
   * this limit.
   */
  storageMb?: number;
  /** US dollars for model calls over the conversation's life. Absent: no limit. */
  costUsd?: number;
}

/** A file or directory of the worker's machine that is copied into a sandbox when it is created. */
export type SandboxAsset = {
  /** Absolute. */
  from: string;
  /** In the sandbox; relative paths start at its home. */
  to: string;
};

/** A host that a sandbox may reach. (A type alias: unlike an interface, it is assignable to `Json`.) */
export type EgressRule = {
  /** A name, `*.domain` for all names below it, or an address. */
  host: string;
  /** Default 80 and 443; only 443 where headers are added. */
  ports?: number[];
  /** Set by the worker on requests to this host, in place of the guest's own. `${env.NAME}` is filled in by the worker when it is needed. */
  headers?: Record<string, string>;
  /** Whether `headers` are also added to requests without TLS, which anyone on the network path can read. Default false: such requests are refused. */
  cleartext?: boolean;
  /**
   * Whether connections to `ports` may use other protocols than HTTP, and TLS with this name: ssh, databases. Their content is not checked. Default false.
   */
  raw?: boolean;
};

/** `diskMb` of a sandbox whose options have none. */
export const DEFAULT_DISK_MB = 10_240;

export interface SandboxOptions {
  /** Name of the template that the other options partly come from. */
  template?: string;
  /** Docker image; the standard image when absent. */
  image?: string;
  memoryMb?: number;
  cpus?: number;
  pids?: number;
  /** Size limit of all files of the sandbox, in MB; commands that write more are ended. 0: only the storage of the host limits it. Default 10 240. */
  diskMb?: number;
  /** Whether only `/home`, `/tmp` and `/run` can be written. Default true. */
  readOnlyRoot?: boolean;
  /**
   * `runc`: an ordinary container. `runsc`: gVisor, which isolates more strongly and can hibernate. `auto`: gVisor where the host can hibernate it.
   * Default `auto` for a sandbox that hibernates, else `runc`.
   */
  runtime?: 'runc' | 'runsc' | 'auto';
  /** Hosts that the sandbox may reach; none when absent. A string is a rule with only that host. */
  egress?: (string | EgressRule)[];
  /** Environment variables of every command, masked in its output. `${env.NAME}` is filled in by the worker that opens the sandbox. */
  secrets?: Record<string, string>;
  /**
   * Environment variables of every command, code and terminal that sets no others; stored with the sandbox as they are, unlike `secrets`.
   */
  env?: Record<string, string>;
  /** What happens to a sandbox without a conversation when its time to live ends. Default `destroy`; the other values keep its files. */
  onTtl?: 'destroy' | 'stop' | 'hibernate';
  /** Milliseconds without work until the sandbox is frozen. 0 never freezes. Default 30 000. */
  freezeAfterMs?: number;
  /**
   * Milliseconds without work until the sandbox is hibernated: its processes are stored on disk and continue later. 0 (the default) never hibernates it.
   * A host that cannot hibernate it stops it instead.
   */
  hibernateAfterMs?: number;
  /** Milliseconds without work until the sandbox is stopped: files stay, processes end. 0 (the default) never stops it. */
  stopAfterMs?: number;
  /**
   * Milliseconds without work until the sandbox is archived: packed into the blob store and removed from its host, until its next use. A hibernated sandbox
   * is archived with its processes where the host can do that. 0 (the default) never archives it.
   */
  archiveAfterMs?: number;
  /** When the files are backed up to the blob store: at the end of turns, and with a number also after so many milliseconds of use. Absent: never. */
  backup?: 'turn' | number;
  /** Working directory of commands and code that set none. Default `/home/user`. */
  workDirectory?: string;
  /** It is made and brought back only on hosts that have all of these labels (`LONGSHORE_HOST_LABELS`). */
  hostLabels?: string[];
  /** Labels of the container, as `longshore.label.<name>`. */
  labels?: Record<string, string>;
  /** Stored with the sandbox, for programs that read its row. */
  metadata?: JsonObject;
  /** What a closed conversation does with its sandbox. Default `destroy`. */
  onClose?: 'destroy' | 'keep';
  /** `false`: the sandbox is destroyed at the end of every turn, and the next turn begins with an empty one. Default true. */
  persist?: boolean;
  /** An existing sandbox of the same tenant; a conversation never destroys it. */
  sandboxId?: string;
  /** Uploaded when the sandbox is created, and again when it is rebuilt without its files. */
  assets?: SandboxAsset[];
  /** Milliseconds after work during which the sandbox keeps its tier; the times until its rest count from their end. `true`: it never rests by itself. */
  keepalive?: true | number;
}

/** `deny`: the call is refused. `allow`: it runs. `pause`: the conversation pauses, and the approval keeps waiting. */
export type ApprovalExpiry = 'deny' | 'allow' | 'pause';

export interface PluginPin {
  /** The version of the package. */
  version?: string;
  /** `sha256:…` of all the files of its directory. */
  digest?: string;
  /** Where its files came from, for the next time that they are added. */
  source?: string;
  /** Upper bound of its permissions; when absent, all that it declares. */
  permissions?: PermissionBound;
}

/** The most that a plugin is granted; what is not named is refused. (A type alias: unlike an interface, it is assignable to `Json`.) */
export type PermissionBound = {
  time?: boolean;
  random?: boolean;
  /** Host names; a name without a port allows all ports. */
  network?: string[];
  /** Names of environment variables. */
  env?: string[];
  /** Absolute paths, including everything below them. */
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
  /** MCP servers, by plugin id; the tools of each server form one plugin. Absent: none. */
  mcp?: Record<string, McpServer>;
  /** Required versions or digests of plugins, by their names in `plugins`; a plugin that differs is not loaded. */
  pluginPins?: Record<string, PluginPin>;
  /** Tool ids and patterns (`files:*`) that the agent may call. */
  tools: string[];
  /** Absent: none are made. */
  checkpoints?: CheckpointPolicy;
  sandbox: SandboxOptions;
  approval: ApprovalRule[];
  /**
   * By tool id or pattern; overrides what plugins and tools declare. `true` asks, unless a rule denies; `false` allows, unless a rule decides otherwise.
   */
  requireApproval: Record<string, boolean>;
  /** How long an approval waits for an answer. 0: without limit. */
  approvalTimeoutMs: number;
  /** What happens to an approval that is not answered in time. */
  approvalExpiry: ApprovalExpiry;
  deferTools: DeferOptions;
  /** When prompts are made smaller. Absent: the defaults. */
  context?: ContextOptions | 'off';
  budget: Budget;
  /** With whom it shares files that are kept between conversations. Absent: it has none. */
  memory?: MemoryScope;
  /** Agents that it may give tasks to, by the names that the model uses. Absent: none. */
  agents?: Record<string, SubAgent>;
  /** JSON Schema that the final answer of each turn has to fit. Absent: any text. */
  output?: JsonObject;
  /** Present when a rule says `auto`, or the agent has one nevertheless. */
  judge?: Judge;
  /** Tools that clients run, by the names under which they know them. Absent: none. */
  clientTools?: ClientTools;
  /** Requests may declare more of them. */
  clientToolsFromRequests?: true;
  /** Directories of skills, or patterns of them. Absent: none. */
  skills?: string[];
  /** The model is not told what the `AGENTS.md` in its sandbox says. */
  agentsMd?: 'off';
  /** It keeps a plan that people see. */
  plan?: true;
  /** Turns of all its conversations that run at the same time. Absent: no limit of its own. */
  maxRunningTurns?: number;
  /** Of its turns, where they wait for places. Absent: normal. */
  priority?: Priority;
}

/** How an agent uses another one. */
export interface SubAgent {
  /** Id of the agent. */
  agent: string;
  /** What it is for; the model reads this. */
  description: string;
  /** At most this for each task; what is absent is an eighth of what the conversation has that gives it. The budget of the agent itself holds, too. */
  budget: Pick<Budget, 'tokens' | 'wallTimeMs' | 'costUsd' | 'steps'>;
  /** Where it works. Absent: a sandbox of its own. */
  sandbox?: SandboxUse;
}

/** The part of an agent that the workflow needs: small, and fixed for one run of the workflow. */
export interface AgentLimits {
  budget: Budget;
  /** Model calls in all turns, with those of sub-agents. Only sub-agents have this limit. */
  taskSteps?: number;
  freezeAfterMs: number;
  /** Absent in conversations that were started by versions without hibernation. */
  hibernateAfterMs?: number;
  stopAfterMs: number;
  /** Absent in conversations that were started by versions without archives. */
  archiveAfterMs?: number;
  onClose: 'destroy' | 'keep';
  /** Absent: none are made. */
  checkpoints?: CheckpointPolicy;
  /** The files of the sandbox are backed up. */
  backup?: true;
  /** Present where the sandbox is destroyed at the end of every turn. */
  persist?: false;
  approvalTimeoutMs: number;
  /** Absent: `deny`. */
  approvalExpiry?: ApprovalExpiry;
  /** No person can answer: only calls that read and need no approval may run. */
  unattended?: boolean;
  /** Absent: the agent has no judge. */
  judge?: Pick<Judge, 'handovers'>;
}
