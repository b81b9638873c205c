import type { ProposedCall } from '../../contracts/activities.ts';
import { summaryLine } from '../../contracts/markdown.ts';
import { questionTool, type Question, type QuestionAnswer } from '../../contracts/questions/question.ts';
import { isObject, type JsonObject } from '../../contracts/json.ts';
import { hashCall } from '../../plugins/registry/hash-call.ts';
import type { NewEvent } from '../../store/store.ts';
import type { NewMethodCall, ToolCallRow } from '../../store/tool-call-rows.ts';
import type { ExecuteToolArgs } from '../../contracts/activities.ts';

/** A question of a server as the workflow needs it, for the ledger, and for the events. */
export interface ProposedQuestion {
  proposed: ProposedCall;
  proposal: NewMethodCall;
  requested: NewEvent;
}

/** @param timeoutMs how long an answer is waited for, in addition to the limit of the agent; 0 for no further limit */
export function proposeQuestion(args: ExecuteToolArgs, place: { callId: string; number: number; timeoutMs: number }, question: Question): ProposedQuestion {
  const { conversationId, turnId, stepId, callId: parentCallId } = args;
  const { callId, number, timeoutMs } = place;
  const tool = questionTool(question.server);
  const hash = hashOfQuestion(tool, question);
  const why = whyOf(question);
  const inert = { kind: 'tool', readOnly: false, needsSandbox: false, retry: 'once' } as const;
  return {
    proposed: { callId, tool, arguments: question, hash, decision: 'ask', why, ...inert, timeoutMs, summary: summaryLine(question.message) },
    proposal: { callId, conversationId, turnId, stepId, number, tool, arguments: question, hash, parentCallId },
    requested: { type: 'tool.requested', turnId, stepId, data: { callId, tool, arguments: question, decision: 'ask', why, parentCallId } },
  };
}

function whyOf(question: Question): string {
  if ('signIn' in question)
    return `The MCP server ${question.server} wants the user to sign in. Longshore asks this; the user opens the page, and the call goes on by itself after that.`;
  return `The MCP server ${question.server} asks. Its words are its own, not those of the agent or of Longshore; give it no password or key.`;
}

export function hashOfQuestion(tool: string, question: JsonObject): string {
  return hashCall({ id: tool, pluginVersion: '' }, question);
}

/** Whether a row is of this question, answered or not. */
export function isSameQuestion({ tool, arguments: { answer: _given, ...asked } }: Pick<ToolCallRow, 'tool' | 'arguments'>, question: Question): boolean {
  const { answer: _suggested, ...same } = question as JsonObject;
  return hashOfQuestion(tool, asked) === hashOfQuestion(questionTool(question.server), same);
}

/** What the server is told, once the question has ended; undefined before. */
export function answerIn({ state, content, arguments: { schema, answer } }: Pick<ToolCallRow, 'state' | 'content' | 'arguments'>): QuestionAnswer | undefined {
  if (!content) return undefined;
  if (state === 'denied') return { action: 'decline' };
  if (state !== 'finished') return { action: 'cancel' };
  return { action: 'accept', ...(schema !== undefined && isObject(answer) && { content: answer }) };
}
