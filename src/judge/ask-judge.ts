import { anySignal } from '../common/any-signal.ts';
import { modelName } from '../common/model-name.ts';
import type { Verdict } from '../contracts/judging.ts';
import type { Agent, Judge } from '../contracts/agent.ts';
import { saidIn, type CutOff } from '../contracts/transcript.ts';
import type { Usage } from '../contracts/usage.ts';
import type { Models } from '../models/create-models.ts';
import { instructionsFor, questionAbout, tooLarge, type CallToJudge } from './judge-request.ts';
import { handOver, readVerdict, VERDICT_SCHEMA } from './read-verdict.ts';

export interface Judgement extends Verdict {
  /** Name of the model, and what it used; absent when it was not asked. */
  model?: string;
  usage?: Usage;
}

export interface Question {
  models: Models;
  agent: Agent;
  judge: Judge;
  call: CallToJudge;
  /** The place of the call, for the model. */
  conversationId: string;
  turnId: string;
  /** A judge whose price is not known is not asked. */
  priceRequired?: boolean;
  signal: AbortSignal;
}

const PATIENCE_MS = 30_000;
/** Models that think before they answer need some for that. */
const MOST_TOKENS = 4_096;
const CUT: Record<CutOff, string> = { length: 'at its limit of tokens', 'content-filter': "by the provider's content filter" };
/** The judge of each agent as an agent: models are made and kept by agents. */
const asAgents = new WeakMap<Judge, Agent>();

/** Asks a judge about a call. @throws MODEL_* when the model cannot be asked */
export async function askJudge({ models, agent, judge, call, priceRequired = false, signal, conversationId, turnId }: Question): Promise<Judgement> {
  const problem = tooLarge(call);
  if (problem !== undefined) return handOver(problem);
  const judging = agentOf(judge, agent);
  const name = modelName(judging);
  if (priceRequired && !models.isPriced(judging))
    return handOver(`The price of ${name}, the model of the judge, is not known, and the conversation has a budget of cost.`);
  const timeout = AbortSignal.timeout(PATIENCE_MS);
  const question = { role: 'user' as const, content: [{ type: 'text' as const, text: questionAbout(call) }] };
  const request = {
    conversationId,
    turnId,
    step: 0,
    instructions: instructionsFor(agent, judge),
    transcript: [{ seq: 1, turnId, at: new Date().toISOString(), entry: question }],
    tools: [],
    output: VERDICT_SCHEMA,
    maxOutputTokens: MOST_TOKENS,
    signal: anySignal([signal, timeout]),
  };
  const answer = await models
    .get(judging)
    .answer(request, () => undefined)
    .catch((error: unknown) => {
      if (signal.aborted || !timeout.aborted) throw error;
      return undefined;
    });
  if (!answer) return handOver(`The judge has not answered within ${PATIENCE_MS / 1000} s.`);
  const { parts, cutOff, usage } = answer;
  const verdict = cutOff
    ? handOver(`The judge gave no verdict: its answer was cut off ${CUT[cutOff]}`)
    : readVerdict(saidIn({ role: 'assistant', parts }), judge.minConfidence);
  return { ...verdict, model: name, usage };
}

function agentOf(judge: Judge, { context: _ofItsOwnModel, ...agent }: Agent): Agent {
  const known = asAgents.get(judge) ?? { ...agent, model: judge.model, modelOptions: judge.modelOptions };
  asAgents.set(judge, known);
  return known;
}
