import { showValue } from '../../common/show-value.ts';
import { AGENT_TOOLS } from '../../contracts/sub-agent.ts';
import { isFailure } from '../../contracts/errors.ts';
import { derivedId } from '../../platform/derived-id.ts';
import type { ConversationRow } from '../../store/store.ts';
import { answerIn, runAgent, startAgent, type AgentRun } from './run-agent.ts';
import { failedBy } from './tool-run.ts';
import type { RunOutcome } from './tool-run-outcome.ts';

/** Runs a call of a tool that is about sub-agents. Repeated attempts have the effect of one. */
export function runAgentTool(run: AgentRun): Promise<RunOutcome> {
  switch (run.args.tool) {
    case AGENT_TOOLS.run:
      return runAgent(run);
    case AGENT_TOOLS.start:
      return startAgent(run);
    case AGENT_TOOLS.wait:
      return waitForAgents(run);
    case AGENT_TOOLS.message:
      return messageAgent(run);
    default:
      return stopAgent(run);
  }
}

async function waitForAgents(run: AgentRun): Promise<RunOutcome> {
  const { agents: ids } = run.claim.call.arguments as { agents: string[] };
  const rows: ConversationRow[] = [];
  for (const id of new Set(ids)) {
    const row = await ownAgent(run, id);
    if (!row) return unknown(id);
    rows.push(row);
  }
  const open = rows.filter(({ state }) => state !== 'closed').map(({ conversationId }) => conversationId);
  if (open.length > 0) return { outcome: 'suspended', calls: [], waitsFor: open };
  const answers = await Promise.all(rows.map(async (row) => ({ agent: row.conversationId, ...(await answerIn(run, row)) })));
  return { outcome: 'returned', result: answers };
}

async function messageAgent(run: AgentRun): Promise<RunOutcome> {
  const { agent: id, message } = run.claim.call.arguments as { agent: string; message: string };
  if (!(await ownAgent(run, id))) return unknown(id);
  try {
    await run.subAgents.send(id, derivedId('msg', [run.args.callId]), message);
  } catch (error) {
    if (isFailure(error, 'CONVERSATION_CLOSED')) return { outcome: 'failed', text: `The agent ${id} has ended. Read its answer with ${AGENT_TOOLS.wait}.` };
    return isFailure(error) && !error.retryable ? failedBy(run, error) : { outcome: 'later', error };
  }
  return { outcome: 'returned', result: 'It reads the message before its next step.' };
}

async function stopAgent(run: AgentRun): Promise<RunOutcome> {
  const { agent: id } = run.claim.call.arguments as { agent: string };
  const row = await ownAgent(run, id);
  if (!row) return unknown(id);
  if (row.state === 'closed') return { outcome: 'returned', result: `It had already ended. Read its answer with ${AGENT_TOOLS.wait}.` };
  await run.subAgents.close(id);
  return { outcome: 'returned', result: 'It is asked to end.' };
}

/** A conversation that this one has started. Others are as if they did not exist. */
async function ownAgent({ store, args }: AgentRun, id: string): Promise<ConversationRow | undefined> {
  const row = await store.conversations.get(id);
  return row?.status.parent?.conversationId === args.conversationId ? row : undefined;
}

function unknown(id: string): RunOutcome {
  return { outcome: 'failed', text: `This conversation has started no agent ${showValue(id)}. Give the id that ${AGENT_TOOLS.start} has answered.` };
}
