import { isInputRequiredResult } from '@modelcontextprotocol/client';
import { pause } from '../../../../common/pause.ts';
import { isObject, type JsonObject } from '../../../../contracts/json.ts';
import type { Sampling } from '../../../../contracts/mcp/server.ts';
import { SAMPLING, type Question } from '../../../../contracts/questions/question.ts';
import { cutMiddle } from '../../../../contracts/visible-text.ts';
import type { ServerRequest } from '../../../../sandbox/api/host-methods.ts';
import type { ToolContext } from '../../../api/define-plugin.ts';
import { answerQuestion } from '../questions/answer-question.ts';
import { answerSampling } from '../questions/answer-sampling.ts';
import { fateOf } from './fate-of.ts';

/** What a server wants before it goes on with a request, which ends with that. JSON. */
export interface Round {
  /** The server's own; it gets it back unread. */
  state?: string;
  asks: Record<string, JsonObject>;
  /** Rounds of the request before this one, and questions to a person in them. */
  before: number;
  asked: number;
}

/** Where the open round of a call is kept, so that another worker goes on with it. */
export interface KeptRounds {
  open(request: ServerRequest): Promise<Round | undefined>;
  keep(request: ServerRequest, round: Round): Promise<void>;
  forget(): Promise<void>;
}

interface Parts {
  server: string;
  sampling: Sampling | undefined;
  askPerson?: ToolContext['askPerson'];
  model?: ToolContext['model'];
  signal: AbortSignal;
  kept: KeptRounds | undefined;
  send: (request: ServerRequest) => Promise<JsonObject>;
}

const MOST_ROUNDS = 50;
const MOST_ASKS = 20;
const LONGEST_STATE = 256 * 1024;
const LONGEST_ASKS = 1_000_000;
/** Before a request that only brings back the state of the server. */
const PAUSE_MS = 250;

/**
 * Makes a request of the revision 2026-07-28: a server that needs input answers with what it asks, and gets the request again with the answers, until it has all.
 * In between, nothing of the request is in progress anywhere, so any worker can go on with it.
 * @throws an Error that says why the server does not get what it wants
 */
export async function callInRounds(request: ServerRequest, parts: Parts): Promise<JsonObject> {
  const { kept, send, sampling, server } = parts;
  let round = await kept?.open(request);
  let result = round ? undefined : await send(request);
  for (;;) {
    if (result !== undefined) {
      if (!isInputRequiredResult(result)) return result;
      round = readRound(server, result, round && { before: round.before + 1, asked: round.asked + personAsks(round, sampling) });
      await kept?.keep(request, round);
    }
    result = await goOn(request, round as Round, parts);
  }
}

/** Gets the answers of one round, and sends the request with them. */
async function goOn(request: ServerRequest, round: Round, parts: Parts): Promise<JsonObject> {
  const { kept, send, signal } = parts;
  const { state, asks } = round;
  const answers: JsonObject = {};
  let { asked } = round;
  // One after the other: each has its number in the call, by which another attempt finds the answer.
  for (const [key, ask] of Object.entries(asks)) {
    answers[key] = await answerTo(ask, parts, asked);
    if (isForPerson(ask, parts.sampling)) asked += 1;
  }
  const hasAnswers = Object.keys(asks).length > 0;
  if (!hasAnswers) await pause(PAUSE_MS, signal);
  if (signal.aborted) throw signal.reason;
  // From here on, it may take effect.
  await kept?.forget();
  try {
    return await send({
      method: request.method,
      params: { ...request.params, ...(hasAnswers && { inputResponses: answers }), ...(state !== undefined && { requestState: state }) },
    });
  } catch (error) {
    if (fateOf(error) === 'unmade') await kept?.keep(request, round);
    throw error;
  }
}

async function answerTo({ method, params }: JsonObject, { server, sampling, askPerson, model, signal }: Parts, asked: number): Promise<JsonObject> {
  const ask = askPerson && ((question: Question, until: AbortSignal) => askPerson(question, until, asked));
  const call = { ...(ask && { askPerson: ask }), ...(model && { model }) };
  try {
    if (method === 'elicitation/create') return (await answerQuestion(server, params, call, signal)) as JsonObject;
    if (method === SAMPLING && sampling) return await answerSampling(server, sampling, params, call, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Error(`the MCP server ${server} asks for something during this call and does not get it: ${(error as Error).message}`, { cause: error });
  }
  throw new Error(
    `the MCP server ${server} asks for ${JSON.stringify(cutMiddle(typeof method === 'string' ? method : 'something else', 100))} during this call, which is not offered to it`,
  );
}

/** @throws an Error when it is none, or asks too much */
function readRound(server: string, { inputRequests = {}, requestState: state }: JsonObject, { before, asked } = { before: 0, asked: 0 }): Round {
  const asks = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  const tooMuch = (what: string) => new Error(`the MCP server ${server} asks too much during this call: ${what}`);
  if (before >= MOST_ROUNDS) throw tooMuch(`it has asked ${MOST_ROUNDS} times`);
  if (asks.length > MOST_ASKS) throw tooMuch(`${asks.length} things at the same time, and ${MOST_ASKS} are allowed`);
  const size = JSON.stringify(inputRequests).length;
  if (size > LONGEST_ASKS) throw tooMuch(`what it asks has ${size} characters, and ${LONGEST_ASKS} are allowed`);
  if (typeof state === 'string' && state.length > LONGEST_STATE)
    throw tooMuch(`the state of the request has ${state.length} characters, and ${LONGEST_STATE} are allowed`);
  const valid = Object.fromEntries(asks.map(([key, ask]) => [key, isObject(ask) ? ask : {}]));
  return { ...(typeof state === 'string' && { state }), asks: valid, before, asked };
}

function personAsks({ asks }: Round, sampling: Sampling | undefined): number {
  return Object.values(asks).filter((ask) => isForPerson(ask, sampling)).length;
}

function isForPerson({ method }: JsonObject, sampling: Sampling | undefined): boolean {
  return method === 'elicitation/create' || (method === SAMPLING && sampling === 'ask');
}
