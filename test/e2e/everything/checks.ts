import type { Chat, ConversationEvent, Longshore } from '../../../src/client.ts';
import type { StoredEntry } from '../../../src/contracts/transcript.ts';
import { LINES, TASK, TREE_TOKENS } from './agents.ts';
import { STEP_TOKENS } from './steps.ts';

/** What was seen in the conversations that were checked. */
export interface Tally {
  conversations: number;
  calls: number;
  effects: number;
  tasks: number;
  events: number;
}

/** Checks a conversation that has ended, with everything below it: nothing is lost, nothing doubled, nothing overspent. */
export async function checkTree(longshore: Longshore, root: Chat, tally: Tally): Promise<void> {
  const rows = await longshore.list({ limit: 1000 });
  const tree = rows.filter(({ conversationId, status }) => conversationId === root.id || status.parent?.path.includes(root.id));
  let steps = 0;
  for (const { conversationId, agentId, state, status } of tree) {
    const chat = await longshore.chat(conversationId);
    const [entries, events] = [await chat.transcript(), await eventsOf(chat)];
    expect({ agentId, state, outcome: status.lastTurn }).toMatchObject({ state: 'closed', outcome: { outcome: 'finished' } });
    checkCalls(agentId, entries, tally);
    checkEvents(events, tally);
    checkLines(agentId, entries, tally);
    checkTasks(events, tree.filter(({ status: { parent } }) => parent?.conversationId === conversationId).length, tally);
    if (status.parent) expect(status.spent).toEqual(expect.objectContaining({ tokens: expect.any(Number), steps: expect.any(Number) }));
    if (status.parent) expect([(status.spent?.tokens ?? 0) <= TASK.tokens, (status.spent?.steps ?? 0) <= TASK.steps]).toEqual([true, true]);
    steps += entries.filter(({ entry }) => entry.role === 'assistant').length;
    tally.conversations += 1;
  }
  const { tokensUsed, agentId } = (await root.status()) as { tokensUsed: number; agentId: string };
  if (agentId === 'tree') expect([tokensUsed, tokensUsed <= TREE_TOKENS]).toEqual([steps * STEP_TOKENS, true]);
}

/** Each call has one result, behind the call. */
function checkCalls(agentId: string, entries: StoredEntry[], tally: Tally): void {
  const asked = entries.flatMap(({ entry }) =>
    entry.role === 'assistant' ? entry.parts.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])) : [],
  );
  const answered = entries.flatMap(({ entry }) => (entry.role === 'tool' ? [entry.callId] : []));
  expect({ agentId, calls: answered.toSorted() }).toEqual({ agentId, calls: asked.toSorted() });
  expect(new Set(asked).size).toBe(asked.length);
  tally.calls += asked.length;
}

/** Numbers without gaps, in order; no call is unknown, since no container was killed; each call is started and finished once. */
function checkEvents(events: ConversationEvent[], tally: Tally): void {
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ type }) => type === 'tool.unknown')).toEqual([]);
  for (const once of ['tool.started', 'tool.finished', 'agent.started', 'agent.ended', 'tool.requested'] as const) {
    const ids = events.flatMap(({ type, data }) => (type === once ? [data['callId']] : []));
    expect({ once, ids: new Set(ids).size }).toEqual({ once, ids: ids.length });
  }
  tally.events += events.length;
}

/** Each command has left its line once. */
function checkLines(agentId: string, entries: StoredEntry[], tally: Tally): void {
  const wanted = LINES[agentId];
  if (!wanted) return;
  const results = entries.flatMap(({ entry }) =>
    entry.role === 'tool' ? [entry.content.map((part) => (part.type === 'text' ? part.text : '')).join('')] : [],
  );
  const { stdout } = JSON.parse(results.at(-1) ?? '{}') as { stdout: string };
  const lines = stdout.trim().split('\n');
  if (wanted.exactly) expect({ agentId, lines }).toEqual({ agentId, lines: wanted.exactly.toSorted() });
  else expect({ agentId, lines, each: new Set(lines).size }).toMatchObject({ lines: expect.arrayContaining(wanted.atLeast ?? []), each: lines.length });
  tally.effects += lines.length;
}

/** Each task is a conversation, and its end is told once. */
function checkTasks(events: ConversationEvent[], children: number, tally: Tally): void {
  const told = (wanted: string) => events.filter(({ type }) => type === wanted).length;
  expect([told('agent.started'), told('agent.ended')]).toEqual([children, children]);
  tally.tasks += children;
}

async function eventsOf(chat: Chat): Promise<ConversationEvent[]> {
  const events: ConversationEvent[] = [];
  for await (const event of chat.events()) events.push(event);
  return events;
}
