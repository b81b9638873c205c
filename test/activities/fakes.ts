import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino, type Logger } from 'pino';
import { createExecuteTool } from '../../src/activities/execute-tool.ts';
import { createInterruptCall } from '../../src/activities/interrupt-call.ts';
import { createConversationSandboxes } from '../../src/tool-calls/run/sandbox-of-conversation.ts';
import type { ExecuteToolArgs, ExecuteToolResult } from '../../src/contracts/activities.ts';
import type { Agent } from '../../src/contracts/agent.ts';
import type { ConversationEvent } from '../../src/contracts/events.ts';
import type { TranscriptEntry } from '../../src/contracts/transcript.ts';
import { definePlugin, defineTool, type ToolDefinition } from '../../src/plugins/api/define-plugin.ts';
import type { PluginServices } from '../../src/plugins/api/plugin-services.ts';
import { createRegistry } from '../../src/plugins/registry/registry.ts';
import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import type { NewEvent, Store } from '../../src/store/store.ts';
import type { ToolCallRow } from '../../src/store/tool-call-rows.ts';
import { createFakeSandbox } from './fake-sandbox.ts';

/** A worker that lends nothing to plugins. */
export const NO_SERVICES: PluginServices = {
  environment: () => undefined,
  configOf: () => ({}),
  fetchFor: () => async () => Promise.reject(new Error('there is no network')),
};

/** The ledger, transcript and events in memory, with the rules of the real store. */
export function createFakeStore() {
  const calls = new Map<string, ToolCallRow>();
  const events: ConversationEvent[] = [];
  const keys = new Set<string>();
  const transcript = new Map<string, TranscriptEntry>();
  const messages = new Map<string, string>();
  const faults = { settle: [] as (Error | 'superseded')[], claim: [] as Error[], claimed: [] as Error[] };
  let sandboxState: 'none' | 'running' = 'none';
  let filesLostAt: string | undefined;
  const append = (more: NewEvent[]) => {
    for (const { key, ...event } of more) {
      if (key !== undefined && keys.has(key)) continue;
      if (key !== undefined) keys.add(key);
      events.push({ ...event, seq: events.length + 1, at: new Date().toISOString(), conversationId: 'conv_1' } as ConversationEvent);
    }
  };
  const store = {
    toolCalls: {
      async propose(more: Pick<ToolCallRow, 'callId' | 'conversationId' | 'turnId' | 'stepId' | 'tool' | 'arguments' | 'hash'>[]) {
        for (const call of more) calls.set(call.callId, { ...call, state: 'proposed', fence: 0, isError: false, requestedAt: new Date().toISOString() });
      },
      async get(callId: string) {
        const call = calls.get(callId);
        return call && { ...call };
      },
      openOfCode: async ({ callId }: Pick<ToolCallRow, 'callId'>) =>
        [...calls.values()].filter(({ state, parentCallId }) => parentCallId === callId && (state === 'proposed' || state === 'running')),
      claimOn: async () => undefined,
      async claim(callId: string, hash: string, started: NewEvent[] = []) {
        const fault = faults.claim.shift();
        if (fault) throw fault;
        const call = calls.get(callId);
        if (!call) return { outcome: 'missing' as const };
        if (call.hash !== hash) return { outcome: 'mismatch' as const, call: { ...call } };
        if (call.state !== 'proposed' && call.state !== 'running') return { outcome: 'settled' as const, call: { ...call } };
        call.state = 'running';
        call.fence += 1;
        call.startedAt ??= new Date().toISOString();
        if (call.fence === 1) append(started);
        const lost = faults.claimed.shift();
        if (lost) throw lost;
        return { outcome: 'claimed' as const, fence: call.fence, attempt: call.fence, call: { ...call }, begunAt: performance.now() };
      },
      async settle(
        callId: string,
        fence: number | undefined,
        result: { state: ToolCallRow['state']; content: ToolCallRow['content']; isError: boolean },
        more: NewEvent[],
      ) {
        const fault = faults.settle.shift();
        if (fault === 'superseded') return false;
        if (fault) throw fault;
        const call = calls.get(callId);
        if (!call || (call.state !== 'proposed' && call.state !== 'running') || (fence !== undefined && fence !== call.fence)) return false;
        Object.assign(call, result);
        transcript.set(callId, { role: 'tool', callId, tool: call.tool, content: result.content ?? [], isError: result.isError });
        append(more);
        return true;
      },
      async edit(callId: string, argumentsEdited: ToolCallRow['arguments'], hash: string) {
        const call = calls.get(callId);
        if (call?.state !== 'proposed') return false;
        Object.assign(call, { arguments: argumentsEdited, hash });
        return true;
      },
    },
    events: {
      append: async (_conversationId: string, more: NewEvent[]) => append(more),
      read: async (_conversationId: string, after: number) => events.filter(({ seq }) => seq > after).slice(0, 500),
      async toldOutput(_conversationId: string, callId: string) {
        const told = { stdout: 0, stderr: 0 };
        for (const { type, data } of events) {
          if (type === 'tool.output' && data.callId === callId) told[data.stream] = Math.max(told[data.stream], data.offset + data.bytes);
        }
        return told;
      },
      sentBy: async (_conversationId: string, callId: string) =>
        events.flatMap((event) => (event.type === 'message.sent' && event.data.callId === callId ? [event.data.index] : [])),
    },
    transcript: {
      async append(_conversationId: string, _turnId: string, _stepId: string | undefined, key: string, entry: TranscriptEntry) {
        if (transcript.has(key)) return false;
        transcript.set(key, entry);
        return true;
      },
    },
    messages: { get: async (_conversationId: string, messageId: string) => messages.get(messageId) },
    conversations: {
      get: async () => ({ tenantId: 'tenant', agentId: 'agent' }),
      saveStatus: async (_status: unknown, more: NewEvent[]) => append(more),
    },
    sandboxUses: { of: async () => undefined, isBusy: async () => false },
    sandboxes: {
      ofConversation: async () =>
        sandboxState === 'none' ? undefined : { sandboxId: 'sbx_1', state: sandboxState, ...(filesLostAt !== undefined && { filesLostAt }) },
    },
  };
  return {
    store: store as unknown as Store,
    calls,
    events,
    transcript,
    messages,
    faults,
    typesOf: () => events.map(({ type }) => type),
    opened() {
      sandboxState = 'running';
    },
    /** The sandbox was rebuilt without its files. */
    filesLost() {
      filesLostAt = new Date().toISOString();
    },
  };
}

/** One call of one tool, with fakes all around it. */
export function setUpCall(
  definition: Partial<ToolDefinition<{ type: 'object' }>> & Pick<ToolDefinition<{ type: 'object' }>, 'execute'>,
  services: PluginServices = NO_SERVICES,
  approval: Agent['approval'] = [{ tool: '*', decide: 'allow' }],
  host: Partial<Sandboxes> = {},
  log: Logger = pino({ level: 'silent' }),
) {
  const tool = defineTool<{ type: 'object' }>({ id: 'tool', description: 'a tool', parameters: { type: 'object' }, isolation: 'container', ...definition });
  const registry = createRegistry([definePlugin({ id: 'test', version: '1.0.0', description: 'tools under test', tools: [tool] })]);
  const sandbox = createFakeSandbox();
  const ledger = createFakeStore();
  const opens: string[] = [];
  const signals: unknown[] = [];
  const conversation = { over: false };
  const signal = async (id: string, ...given: unknown[]) => {
    if (conversation.over) throw new WorkflowNotFoundError('it has ended', id, undefined);
    signals.push([id, ...given]);
  };
  const withAbortSignal = <T>(_signal: AbortSignal, work: () => T) => work();
  const client = { withAbortSignal, workflow: { getHandle: (id: string) => ({ signal: (...given: unknown[]) => signal(id, ...given) }) } } as unknown as Client;
  const sandboxes = {
    ...host,
    async open({ sandboxId }: { sandboxId: string }) {
      opens.push(sandboxId);
      ledger.opened();
      if (!sandbox.isDead()) return { handle: sandbox.handle };
      if (sandbox.revive().lostFiles) ledger.filesLost();
      return { handle: sandbox.handle, lost: 'The container was killed.' };
    },
  } as unknown as Sandboxes;
  const agents = new Map([['agent', { id: 'agent', sandbox: {}, approval, requireApproval: {} } as unknown as Agent]]);
  const args: ExecuteToolArgs = {
    conversationId: 'conv_1',
    agentId: 'agent',
    userId: 'user',
    tenantId: 'tenant',
    turnId: 'turn_1',
    stepId: 'step_1',
    callId: 'call_1',
    tool: 'test:tool',
    hash: 'h1',
    timeoutMs: 60_000,
    needsSandbox: tool.isolation === 'container',
  };
  const propose = (input = {}) =>
    ledger.store.toolCalls.propose([
      { callId: 'call_1', conversationId: 'conv_1', turnId: 'turn_1', stepId: 'step_1', tool: 'test:tool', arguments: input, hash: 'h1' },
    ]);
  const models = { get: () => ({ answer: () => Promise.reject(new Error('no model is asked here')) }), isPriced: () => false };
  const subAgents = {
    start: async () => undefined,
    send: async () => undefined,
    close: async () => undefined,
    pause: async () => undefined,
    resume: async () => undefined,
    tellParent: async () => undefined,
    tellOfPlace: async () => undefined,
  };
  /** A worker of its own: what it holds dies with it. */
  const worker = () => {
    const parts = {
      store: ledger.store,
      registry,
      agents,
      log,
      services,
      models,
      opened: createConversationSandboxes({ sandboxes, agents, store: ledger.store }),
      subAgents,
      questions: { tell: async () => undefined },
    };
    const environment = new MockActivityEnvironment({}, { client });
    const executeTool = createExecuteTool(parts);
    return {
      environment,
      execute: (more: Partial<ExecuteToolArgs> = {}): Promise<ExecuteToolResult> => environment.run(executeTool, { ...args, ...more }),
      interrupt: () => new MockActivityEnvironment().run(createInterruptCall(parts), { conversationId: 'conv_1', callId: 'call_1' }),
    };
  };
  return { ...ledger, sandbox, opens, signals, conversation, propose, worker, args, resultText: () => textOf(ledger.transcript.get('call_1')) };
}

function textOf(entry: TranscriptEntry | undefined): string {
  return entry?.role === 'tool' ? entry.content.map((part) => (part.type === 'text' ? part.text : part.type)).join('\n') : '';
}

/** Waits until something is so. */
export async function until(condition: () => boolean, what = 'the condition'): Promise<void> {
  const deadline = Date.now() + 180_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited too long for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
