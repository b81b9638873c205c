import { pino } from 'pino';
import type { Agent } from '../../src/contracts/agent.ts';
import type { JsonObject } from '../../src/contracts/json.ts';
import type { StoredEntry, TranscriptEntry } from '../../src/contracts/transcript.ts';
import { createModels } from '../../src/models/create-models.ts';
import type { Model, ModelDelta, ModelRequest } from '../../src/models/model.ts';

export const silentLog = pino({ level: 'silent' });

export function makeAgent(model: string, modelOptions: JsonObject = {}): Agent {
  return {
    id: 'tester',
    model,
    modelOptions,
    instructions: 'Be brief.',
    plugins: [],
    tools: ['shell:*'],
    sandbox: {},
    approval: [],
    requireApproval: {},
    approvalExpiry: 'deny',
    deferTools: { over: 40, pin: [] },
    approvalTimeoutMs: 0,
    budget: {},
  };
}

export function makeModel(model: string, modelOptions: JsonObject = {}, environment: Record<string, string> = {}): Model {
  return createModels({ readEnvironment: (name) => environment[name], log: silentLog }).get(makeAgent(model, modelOptions));
}

export function store(entries: TranscriptEntry[]): StoredEntry[] {
  return entries.map((entry, index) => ({ seq: index + 1, turnId: 'turn_1', at: '2026-01-01T00:00:00.000Z', entry }));
}

export const SHELL = {
  tool: 'shell:run',
  name: 'shell__run',
  description: 'Runs a command.',
  parameters: { type: 'object', properties: { command: { type: 'string' } } },
};

export function makeRequest(entries: TranscriptEntry[], changes: Partial<ModelRequest> = {}): ModelRequest {
  return {
    conversationId: 'conv_1',
    turnId: 'turn_1',
    step: 0,
    instructions: 'Be brief.',
    transcript: store(entries),
    tools: [SHELL],
    signal: new AbortController().signal,
    ...changes,
  };
}

export const hello: TranscriptEntry = { role: 'user', content: [{ type: 'text', text: 'Hello' }] };

/** Asks and gathers the deltas. */
export async function ask(model: Model, request: ModelRequest) {
  const deltas: ModelDelta[] = [];
  const answer = await model.answer(request, (delta) => deltas.push(delta));
  return { answer, deltas };
}
