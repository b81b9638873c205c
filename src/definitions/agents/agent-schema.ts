import { SANDBOX_USES } from '../../contracts/sub-agents/sandbox-use.ts';
import { z } from 'zod';
import { HOST_NAME } from '../../plugins/api/tool-problems.ts';
import { VARIABLE } from '../../plugins/api/plugin-details.ts';
import type { Json } from '../../contracts/json.ts';
import { MAX_OUTPUT_SCHEMA } from '../../contracts/output.ts';
import { PRIORITIES } from '../../contracts/places/priority.ts';
import { MEMORY_SCOPES } from '../../contracts/memory/memory.ts';
import { duration } from '../../common/duration.ts';
import { clientToolsSchema } from './client-tool-schema.ts';
import { mcpServer } from './mcp-schema.ts';
import { sandboxSchema } from '../parse/sandbox-schema.ts';

const count = z.int().min(1);

/** Says the same when it is missing and when it is written wrongly. */
const modelName = (example: string) => {
  const error = `has to be provider/model, such as ${example}, or scripted/<file>`;
  return z.string(error).regex(/^[a-z0-9-]+\/.+$/, error);
};

const approvalRule = z
  .strictObject({
    tool: z.string().min(1).optional().describe('Tool id or pattern: shell:run, files:*'),
    plugin: z.string().min(1).optional().describe('Plugin id or pattern: weather'),
    annotation: z.enum(['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']).optional().describe('A hint that the tool has to have.'),
    when: z
      .record(
        z.string(),
        z.union([z.string(), z.number(), z.boolean()], 'has to be a text, a number, true or false; lists and objects are compared as their JSON text'),
      )
      .optional()
      .describe('Arguments that have to fit; * in a text stands for anything.'),
    decide: z.enum(['allow', 'ask', 'deny', 'auto']).describe('auto: a model judges the call, see judge; it allows the call, or a person is asked.'),
  })
  .refine(({ tool, plugin, annotation }) => tool ?? plugin ?? annotation, 'has to name a tool, a plugin or an annotation');

const approvalTimeout = z
  .union(
    [
      duration,
      z.strictObject({
        after: duration.describe('0 waits for ever.'),
        // oxlint-disable-next-line unicorn/no-thenable -- a word of the policy; no code awaits it
        then: z.enum(['deny', 'allow', 'pause']).default('deny').describe('pause: the conversation pauses and the approval continues to wait.'),
      }),
    ],
    'has to be a time, such as 30s or 1h, or { after: 1h, then: deny }, with deny, allow or pause',
  )
  .default(604_800_000)
  .describe('How long an approval waits until it counts as denied, or { after: 1h, then: deny | allow | pause }. 0 waits for ever. Default 7d.');

const judge = z.strictObject({
  model: modelName('anthropic/claude-haiku-4-5').describe('The model that judges; a small one is enough.'),
  modelOptions: z.record(z.string(), z.json()).default({}).describe('Given to its provider.'),
  rules: z.array(z.string().min(1).max(2_000)).max(100).default([]).describe('What the operator says about calls, in words, one rule each.'),
  minConfidence: z.number().min(0).max(1).default(0.8).describe('An allowance with less confidence goes to a person. Default 0.8.'),
  handovers: count.default(3).describe('After so many calls in a row that went to a person, people are asked without it, until the next message. Default 3.'),
});

const deferTools = z
  .strictObject({
    over: z.int().min(0).default(40).describe('With more tools than this, all but the pinned ones are shown by one line each. Default 40.'),
    pin: z.array(z.string().min(1)).default(['shell:*', 'code:*', 'files:*']).describe('Tools that are always shown whole. Default: the built-in ones.'),
  })
  .prefault({})
  .describe('When tools are found with tools:search instead of being shown whole.');

const context = z
  .union(
    [
      z.literal('off'),
      z.strictObject({
        window: z
          .int()
          .min(1_000)
          .optional()
          .describe("Tokens that the model takes. Default: what is known of the model; without it, only a provider's refusal compacts."),
        compactAt: z.number().min(0.1).max(0.95).default(0.8).describe('The part of the window at which older steps are left out of prompts. Default 0.8.'),
        keepTurns: count.default(4).describe('The newest turns that are kept whole while there is room. Default 4.'),
        providerEdits: z.boolean().optional().describe('Whether the provider clears older results on its side before that; only anthropic can. Default false.'),
      }),
    ],
    'has to be off, or { window: 200000, compactAt: 0.8, keepTurns: 4 }, each of them or none',
  )
  .optional()
  .describe('How the prompts of long conversations are made smaller; off: never.');

const budget = z
  .strictObject({
    turns: count.default(50).describe('User messages answered over the life of the conversation. Default 50.'),
    steps: count.default(40).describe('Model calls within one turn. Default 40.'),
    tokens: count.default(2_000_000).describe('Input and output tokens over the life of the conversation. Default 2000000.'),
    wallTime: duration
      .refine((milliseconds) => milliseconds > 0, 'has to be above 0')
      .default(7_200_000)
      .describe('Time spent working, pauses and idle time left out. Default 2h.'),
    storageMb: count.default(100).describe('What transcript, calls and events take up in the database, in MB, over the life of the conversation. Default 100.'),
    costUsd: z
      .number()
      .positive('has to be above 0')
      .max(1_000_000_000)
      .optional()
      .describe('US dollars for model calls over the life of the conversation, by the table of prices. Default: no limit.'),
  })
  .prefault({});

const subAgent = z.strictObject({
  agent: z.string().min(1).describe('Id of the agent.'),
  description: z.string().min(1).describe('What it is for. The model reads this.'),
  budget: z
    .strictObject({
      tokens: count.optional().describe('Input and output tokens of each task. Default: an eighth of the budget of the conversation.'),
      wallTime: duration
        .refine((milliseconds) => milliseconds > 0, 'has to be above 0')
        .optional()
        .describe('Time spent working on each task. Default: an eighth of the budget of the conversation.'),
      costUsd: z
        .number()
        .positive('has to be above 0')
        .optional()
        .describe('US dollars of each task. Default: an eighth of the budget of the conversation, if that has a limit.'),
      steps: count
        .optional()
        .describe('Model calls of each task, in all of its turns and with those of its own sub-agents. Default: no limit for the whole task.'),
    })
    .default({})
    .describe("What each task may use at most. It comes out of this agent's own budget, and what is left comes back."),
  sandbox: z
    .enum(SANDBOX_USES)
    .optional()
    .describe(
      'own: a new sandbox. none: it has none. shared: the sandbox of this agent. shared-read-only: the same, with files:read, files:list and files:search alone. fork: a new one with a copy of the files. Default own.',
    ),
});

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'has to be sha256: and 64 hexadecimal digits');
const listOf = (pattern: RegExp, problem: string, meaning: string) => z.array(z.string().regex(pattern, problem)).optional().describe(meaning);
/** Permissions of a plugin, as operators write them. */
export const permissionBound = z.strictObject({
  time: z.boolean().optional().describe('The clock.'),
  random: z.boolean().optional().describe('Math.random().'),
  network: listOf(HOST_NAME, 'has to be a host name, with a port or without', 'Host names; one without a port allows all of its ports.'),
  env: listOf(VARIABLE, 'has to be the name of a variable', 'Names of variables of the worker.'),
  fs: listOf(/^\//, 'has to be an absolute path', 'Absolute paths on the host, with all that lies below them.'),
});
const permissions = permissionBound
  .optional()
  .describe(
    'The permissions that this agent grants the plugin: one that asks for more is not loaded. Without this key, production requires a grant: longshore plugins grant.',
  );
const plugin = z.union(
  [
    z.string().min(1),
    z.strictObject({
      package: z.string().min(1),
      version: z.string().min(1).optional().describe('Exactly this version.'),
      digest: digest.optional(),
      permissions,
    }),
    z.strictObject({
      path: z.string().min(1),
      digest: digest.optional().describe('Of all its files, as longshore plugins check prints it.'),
      source: z.string().min(1).optional().describe('Where longshore plugins add got its files.'),
      permissions,
    }),
  ],
  'has to be a directory or package, { package: name, version: 1.2.3 } or { path: ./directory, digest: sha256:… }, with permissions or without',
);

/** An agent as it is written, in YAML or with `defineAgent`. */
export const agentSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, 'has to be letters, digits, - and _, 63 at most')
    .describe('Name of the agent.'),
  model: modelName('anthropic/claude-sonnet-4-5').describe(
    'provider/model; openai-compatible/<model> with modelOptions.baseUrl; scripted/<file> for tests and demos (relative to this file).',
  ),
  modelOptions: z.record(z.string(), z.json()).default({}).describe('Given to the provider: temperature, maxOutputTokens, baseUrl and the like.'),
  instructions: z.string().default('').describe('The system prompt.'),
  plugins: z.array(plugin).default([]).describe('Plugin directories (relative to this file) or npm packages, and which version or digest of them.'),
  mcp: z
    .record(z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'has to be a lower-case letter, then letters, digits and -, 40 at most'), mcpServer)
    .optional()
    .describe("MCP servers; each is a plugin of this name, so that its tools are 'name:tool'."),
  tools: z
    .array(z.string().min(1))
    .default(['shell:*', 'code:*', 'files:*'])
    .describe('Tool ids and patterns that the agent may call. Default: the built-in tools.'),
  sandbox: sandboxSchema,
  checkpoints: z
    .enum(['turn', 'step', 'off'])
    .optional()
    .describe(
      'When a copy of the home directory is made to which one can go back: at the end of each turn, or of each step, that has called tools. Default off.',
    ),
  approval: z
    .array(approvalRule)
    .default([])
    .describe(
      'If several rules match, deny overrides ask, ask overrides auto, and auto overrides allow. Without a match, read-only tools are allowed, and all others ask for an approval.',
    ),
  judge: judge.optional().describe('The model that judges calls of which a rule says auto.'),
  requireApproval: z
    .record(z.string().min(1), z.boolean())
    .default({})
    .describe('By tool id or pattern; overrides what plugins and tools declare: true asks for an approval, false allows, unless a rule says otherwise.'),
  approvalTimeout,
  deferTools,
  context,
  budget,
  agents: z
    .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, 'has to be letters, digits, - and _, 63 at most'), subAgent)
    .optional()
    .describe('Agents that this one may give tasks to, with agents:run, by the names that the model uses.'),
  memory: z
    .enum([...MEMORY_SCOPES, 'off'])
    .optional()
    .describe(
      'Files that are kept between conversations: those of a user with this tenant, of the whole tenant, or of this agent in the tenant. The agent gets the tools memory:*. Default off.',
    ),
  output: z
    .record(z.string(), z.json(), 'has to be a JSON Schema, such as { type: object, properties: { … }, required: [ … ] }')
    .refine((schema) => JSON.stringify(schema).length <= MAX_OUTPUT_SCHEMA, `has to have ${MAX_OUTPUT_SCHEMA} characters at most`)
    .optional()
    .describe('JSON Schema that the answer of each turn has to fit. Default: any text.'),
  skills: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('Directories with a SKILL.md (relative to this file), or patterns such as ./skills/*. The agent reads them with skills:read.'),
  agentsMd: z
    .enum(['on', 'off'])
    .optional()
    .describe('Whether the model is told what the AGENTS.md in the working directory of its sandbox says, as a note that is marked as data. Default on.'),
  plan: z.boolean().optional().describe('Whether the agent has plan:write, with which it keeps a list of steps that people see while it works. Default false.'),
  maxRunningTurns: count
    .optional()
    .describe('Turns of all conversations of the agent that run at the same time; others wait in order. Default: no limit of its own.'),
  priority: z
    .enum(PRIORITIES)
    .optional()
    .describe(
      'Which turns of a tenant get places first where not all may run: three of four go to the highest, the fourth to who waits longest. Default normal.',
    ),
  clientTools: clientToolsSchema
    .optional()
    .describe('Tools that clients run: pages, editors, services. The tool of the name open_file is client:open_file in rules.'),
  clientToolsFromRequests: z
    .boolean()
    .optional()
    .describe('Whether those who start a conversation or send a message may declare more tools that clients run. Default false.'),
});

/** The keys of an agent; durations are texts such as `30s` or milliseconds. */
export type AgentDefinition = z.input<typeof agentSchema>;

/** The JSON Schema that editors use for agent files. */
export function agentJsonSchema(): Record<string, Json> {
  const schema = z.toJSONSchema(agentSchema, { io: 'input', target: 'draft-7' }) as Record<string, Json>;
  // The file's name is the id when the id is missing.
  return { ...schema, title: 'Longshore agent', required: ['model'] };
}
