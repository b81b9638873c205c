import { showValue } from '../../common/show-value.ts';
import { parseAnswer } from '../../contracts/output.ts';
import type { Json } from '../../contracts/json.ts';
import type { Agent, SubAgent } from '../../contracts/agent.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { TurnOutcome } from '../../contracts/conversation.ts';
import { AGENT_TOOLS, MAX_AGENT_DEPTH, type Share } from '../../contracts/sub-agent.ts';
import type { ParentSandbox } from '../../contracts/sub-agents/sandbox-use.ts';
import { cutOffText, saidIn, type StoredEntry } from '../../contracts/transcript.ts';
import type { ConversationRow } from '../../store/store.ts';
import type { SubAgentCalls } from '../dependencies.ts';
import { sandboxOfTask } from './sub-agent-sandbox.ts';
import { askForPlace, endEvent, startEvent, subAgentId } from './sub-agents.ts';
import { failedBy, type ToolRun } from './tool-run.ts';
import type { RunOutcome } from './tool-run-outcome.ts';

/** What the model is told of an agent that said nothing. */
const SILENT = 'It has done its task and said nothing.';
const WORDS = { tokens: 'tokens', wallTimeMs: 'working time', costUsd: 'cost', steps: 'steps' } as const;

export interface AgentRun extends ToolRun {
  agents: ReadonlyMap<string, Agent>;
  subAgents: SubAgentCalls;
}

/**
 * Runs a call that gives a task to another agent and waits: starts that agent's conversation, and gives its answer when the conversation is closed. Until then
 * the call is suspended. The conversation's id is made of the call's, so that every attempt finds the one that the first has started.
 */
export async function runAgent(run: AgentRun): Promise<RunOutcome> {
  const conversationId = subAgentId(run.args.callId);
  const known = await run.store.conversations.get(conversationId);
  if (known?.state !== 'closed') return (await begin(run, conversationId, known)) ?? { outcome: 'suspended', calls: [], waitsFor: [conversationId] };
  await logStart(run, conversationId);
  const { outcome, answer, why } = await answerIn(run, known);
  if (outcome === 'finished') return { outcome: 'returned', result: answer ?? SILENT };
  const rest = answer === undefined ? 'It said nothing.' : `What it said last:\n${typeof answer === 'string' ? answer : JSON.stringify(answer)}`;
  return { outcome: 'failed', text: `The agent "${given(run).agent}" has not finished its task (${why ?? outcome}). ${rest}` };
}

/** Runs a call that gives a task to another agent and does not wait. */
export async function startAgent(run: AgentRun): Promise<RunOutcome> {
  const conversationId = subAgentId(run.args.callId);
  const known = await run.store.conversations.get(conversationId);
  const refused = known?.state === 'closed' ? undefined : await begin(run, conversationId, known);
  if (known?.state === 'closed') await logStart(run, conversationId);
  const next = `A message says when it has ended; ${AGENT_TOOLS.wait} waits for that and gives its answer.`;
  return refused ?? { outcome: 'returned', result: { agent: conversationId, next } };
}

/** Starts the conversation of a call's sub-agent, unless it has been started. Returns why not. */
async function begin(run: AgentRun, conversationId: string, known: ConversationRow | undefined): Promise<RunOutcome | undefined> {
  const use = useOf(run);
  const own = await run.store.conversations.get(run.args.conversationId);
  const path = [...(own?.status.parent?.path ?? []), run.args.conversationId];
  if (!known) {
    const refused = whyNot(run, use, path);
    if (refused !== undefined) return { outcome: 'failed', text: refused };
    if (!(await askForPlace(run, run.args.callId, path))) return { outcome: 'suspended', calls: [], waitsForPlace: true };
  }
  try {
    // Again for one that is known: its row exists before its workflow.
    if (use)
      await start(run, {
        conversationId,
        agent: use.agent,
        path,
        unattended: own?.status.unattended === true,
        sandbox: sandboxOfTask(use, own, known),
        isNew: !known,
      });
    return undefined;
  } catch (error) {
    // Whether it has started is not known, unless the error says so: the next attempt finds out.
    return isFailure(error) && !error.retryable ? failedBy(run, error) : { outcome: 'later', error };
  }
}

/** A person may have changed the name, and an operator the agent's file. */
function useOf({ agents, args, ...run }: AgentRun): SubAgent | undefined {
  const { agents: named = {} } = agents.get(args.agentId) ?? {};
  const { agent: name } = given(run);
  return Object.hasOwn(named, name) ? named[name] : undefined;
}

function given({ claim }: Pick<ToolRun, 'claim'>): { agent: string; task: string } {
  return claim.call.arguments as { agent: string; task: string };
}

function whyNot(run: AgentRun, use: SubAgent | undefined, path: string[]): string | undefined {
  if (!use) return `There is no agent ${showValue(given(run).agent)} to give tasks to.`;
  const { share = {} } = run.args;
  const empty = (Object.keys(WORDS) as (keyof Share)[]).find((kind) => (share[kind] ?? 1) <= 0);
  if (empty) return `Nothing is left of this conversation's budget of ${WORDS[empty]} for another agent. Go on without it.`;
  if (path.length > MAX_AGENT_DEPTH) return `Agents may give tasks to agents ${MAX_AGENT_DEPTH} levels deep, not deeper. Do this task yourself.`;
  return undefined;
}

interface Beginning {
  conversationId: string;
  agent: string;
  path: string[];
  unattended: boolean;
  sandbox: ParentSandbox | undefined;
  /** Whether it may be that nothing of it was made. */
  isNew: boolean;
}

async function start(run: AgentRun, { conversationId, agent, path, unattended, sandbox, isNew }: Beginning): Promise<void> {
  const { args, claim, opened, subAgents } = run;
  const { task } = given(run);
  const parent = { conversationId: args.conversationId, callId: args.callId, path, ...(sandbox && { sandbox }) };
  const { userId: user, tenantId: tenant, share = {} } = args;
  const isCopied = sandbox?.use === 'fork';
  // Before its first command, and as the files are now. A copy that an earlier attempt has made is the copy.
  if (isCopied && isNew) await opened.copy(args, { conversationId, tenantId: tenant, agentId: agent }, claim.attempt > 1);
  await subAgents.start({ conversationId, agent, user, tenant, message: task, parent, share, unattended });
  // Now that the conversation exists, the copy is its own, and does not expire.
  if (isCopied) await opened.rowOf(conversationId);
  await logStart(run, conversationId);
}

/** Also for a sub-agent that is closed: a worker may have started it and died, and the next attempt come after its end. */
async function logStart(run: AgentRun, conversationId: string): Promise<void> {
  const { args, store } = run;
  const data = { callId: args.callId, conversationId, agent: given(run).agent };
  await store.events.append(args.conversationId, [startEvent(placeOf(run), data)]);
}

function placeOf({ args: { turnId, stepId } }: ToolRun): { turnId: string; stepId: string } {
  return { turnId, stepId };
}

/** How a sub-agent has ended, and its answer: what it said last, or the value of an answer that had to fit a schema. Notes the end in the log of its parent, once. */
export async function answerIn(run: AgentRun, row: ConversationRow): Promise<{ outcome: TurnOutcome; answer?: Json; why?: string }> {
  const { outcome = 'cancelled', message } = row.status.lastTurn ?? {};
  const callId = row.status.parent?.callId ?? run.args.callId;
  await run.store.events.append(run.args.conversationId, [endEvent(placeOf(run), row, callId)]);
  const { text, marked } = lastSaid(await run.store.transcript.read(row.conversationId));
  const answer = (outcome === 'finished' ? await valueOf(run, row, text) : undefined) ?? marked;
  const why = message === undefined ? undefined : `${outcome}: ${message}`;
  return { outcome, ...(answer !== undefined && { answer }), ...(why !== undefined && { why }) };
}

async function valueOf({ store }: AgentRun, { conversationId }: ConversationRow, said: string | undefined): Promise<Json | undefined> {
  const { output, outputCharacters } = (await store.events.lastTurn(conversationId)) ?? {};
  if (outputCharacters === undefined) return output;
  // The text was checked when it came.
  const parsed = parseAnswer(said ?? '');
  return 'value' in parsed ? parsed.value : undefined;
}

/** `marked`: with what says that it is not whole. */
function lastSaid(entries: StoredEntry[]): { text: string | undefined; marked: string | undefined } {
  const answers = entries.flatMap(({ entry }) => (entry.role === 'assistant' ? [entry] : []));
  const text = answers.map((entry) => saidIn(entry).trim()).findLast((said) => said !== '');
  const { cutOff } = answers.at(-1) ?? {};
  return { text, marked: cutOff ? `${text ?? ''}\n(${cutOffText(cutOff)})`.trim() : text };
}
