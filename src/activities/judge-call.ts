import { Context } from '@temporalio/activity';
import type { JudgeCallArgs, JudgeCallResult } from '../contracts/judging.ts';
import { isFailure } from '../contracts/errors.ts';
import { operatorText } from '../contracts/operator-text.ts';
import { withoutUndefined } from '../common/without-undefined.ts';
import { askJudge, type Judgement } from '../judge/ask-judge.ts';
import { handOver } from '../judge/read-verdict.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';
import { redact } from '../tool-calls/results/redact.ts';

const HEARTBEAT_MS = 500;
/** As many as the workflow makes. The last one hands over what the others could not find out. */
const LAST_ATTEMPT = 3;

/**
 * Asks the judge of an agent about a call, with the messages that the user has written, and records the verdict. A verdict that is recorded counts: an attempt
 * that finds one asks nobody.
 */
export function createJudgeCall({ store, agents, models }: Pick<ActivityDependencies, 'store' | 'agents' | 'models'>) {
  return async function judgeCall(args: JudgeCallArgs): Promise<JudgeCallResult> {
    const { conversationId, callId } = args;
    const known = await store.judgements.find(conversationId, callId);
    if (known) return resultOf(known);
    const context = Context.current();
    const heartbeat = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
    try {
      const judgement = await ask(args).catch(handOverLast);
      await record(args, judgement);
      // Another attempt, which was thought dead, may have recorded its verdict meanwhile.
      return resultOf((await store.judgements.find(conversationId, callId)) ?? judgement);
    } finally {
      clearInterval(heartbeat);
    }
  };

  async function ask({ conversationId, agentId, turnId, callId, tool, priceRequired }: JudgeCallArgs): Promise<Judgement> {
    const agent = agents.get(agentId);
    const call = await store.toolCalls.get(callId);
    if (!agent?.judge || !call) return handOver('The agent has no judge any more.');
    if (await store.judgements.isOfSubAgent(conversationId))
      return handOver('This is a fork of a sub-agent, whose task was written by a model, and not by the user.');
    const userMessages = await store.judgements.userMessages(conversationId);
    if (userMessages.length === 0) return handOver('The user has written nothing that says what is wanted.');
    const asked = { tool, arguments: call.arguments, userMessages };
    const signal = Context.current().cancellationSignal;
    return askJudge({ models, agent, judge: agent.judge, call: asked, conversationId, turnId, priceRequired: priceRequired === true, signal });
  }

  async function record({ conversationId, turnId, stepId, callId, tool }: JudgeCallArgs, { model, usage, ...verdict }: Judgement): Promise<void> {
    const { attempt } = Context.current().info;
    // Each attempt that was answered has cost something.
    if (model !== undefined && usage) await store.usage.add({ conversationId, turnId, id: `judge-${callId}-${attempt}` }, model, usage);
    const data = withoutUndefined({ callId, tool, ...verdict, model, usage: usage && { ...usage } });
    await store.events.append(conversationId, [{ type: 'tool.judged', turnId, stepId, data, key: `tool.judged/${callId}` }]);
  }
}

function resultOf({ verdict, reason, confidence, usage }: Judgement): JudgeCallResult {
  return withoutUndefined({ verdict, reason, confidence, usage });
}

/** A judge that cannot be asked lets nothing run. Errors that may pass are tried again before. */
function handOverLast(error: unknown): Judgement {
  const { cancellationSignal, info } = Context.current();
  if (cancellationSignal.aborted) throw error;
  const isFinal = (isFailure(error) && !error.retryable) || info.attempt >= LAST_ATTEMPT;
  if (!isFinal) throw error;
  const why = operatorText(error instanceof Error ? error.message : String(error), 300, redact);
  return handOver(`The judge could not be asked: ${why}`);
}
