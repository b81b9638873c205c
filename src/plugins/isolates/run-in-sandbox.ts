import { failure } from '../../contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '../../contracts/json.ts';
import type { CommandResult } from '../../sandbox/api/commands.ts';
import type { SandboxedQuestion } from '../api/tool-context.ts';
import { useCapability, type CallUnderWay } from './capabilities.ts';
import { createLineReader } from '../../common/lines/line-reader.ts';
import { errorOf, factsOf } from './loaded-process.ts';
import { MAX_LINE_BYTES, readFromGuest, type FromGuest, type SandboxedCall } from './guest-protocol.ts';

export interface SandboxedTool extends Pick<SandboxedCall, 'tool' | 'host' | 'files'> {
  /** Full id, for messages. */
  name: string;
  /** The result of bundleForSandbox. */
  code: string;
  timeoutMs: number;
}

const MAX_LINE = 4_000;
const NO_NODE = 127;
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Runs a tool's code in the conversation's sandbox, or attaches to it where it runs already: the code continues while no worker is attached.
 * @throws TOOL_FAILED when the code gives no result in time; an Error with the message of what the code threw.
 */
export async function runInSandbox({ name, code, timeoutMs, ...told }: SandboxedTool, input: JsonObject, caller: CallUnderWay): Promise<Json> {
  const { context } = caller;
  let outcome: Extract<FromGuest, { type: 'done' | 'failed' }> | undefined;
  const onTold = createLineReader({
    maxBytes: MAX_LINE_BYTES,
    onLine(line) {
      const message = readFromGuest(line);
      if (message?.type === 'done' || message?.type === 'failed') outcome = message;
      if (message?.type === 'tell') write(message, caller);
    },
    onTooLong: () => context.logger.warn('a tool wrote a line that is too long'),
  });
  const call: SandboxedCall = { ...told, input, facts: factsOf(context) };
  const request = { name, code, call: { ...call, facts: { ...call.facts } } };
  const ended = await context.sandbox.runTool({ request, timeoutMs, onTold, ask: (question) => answer(name, question, caller) });
  if (outcome?.type === 'done') return outcome.value;
  // After a timeout, the code's own report about its abort is ignored.
  throw outcome && ended.status !== 'timeout'
    ? errorOf(name, outcome, 'sandbox')
    : failure('TOOL_FAILED', { tool: name, problem: problemOf(ended, timeoutMs) });
}

/** A worker may have done the request and ended before it answered. Such a request is repeated only where that is as good as doing it once. */
async function answer(name: string, question: SandboxedQuestion, { context, permissions }: CallUnderWay): Promise<Json> {
  const { what, args, repeated, send, note, exec, runCode, start } = question;
  if (repeated && !isRepeatable(what, args)) {
    const problem = `the worker that was asked for ${what} ended before it answered, and the request was not repeated`;
    throw failure('TOOL_FAILED', { tool: name, problem });
  }
  const numbered = { ...context, send, note, sandbox: { ...context.sandbox, exec, runCode, start } };
  return useCapability(what, args, { permissions, context: numbered });
}

/** Commands and messages have numbers that prevent a second effect, so they are repeatable. */
function isRepeatable(what: string, [, request, options]: Json[]): boolean {
  if (what === 'fetch') return SAFE_METHODS.has((isObject(request) && typeof request['method'] === 'string' ? request['method'] : 'GET').toUpperCase());
  return what !== 'store.set' || !isObject(options) || typeof options['ifVersion'] !== 'number';
}

function write({ what, text }: Extract<FromGuest, { type: 'tell' }>, { context }: CallUnderWay): void {
  const line = text.slice(0, MAX_LINE);
  if (what === 'heartbeat') context.heartbeat(line.slice(0, 200));
  else context.logger[what](line);
}

function problemOf({ status, exitCode, signal, limit, stdout, stderr }: CommandResult, timeoutMs: number): string {
  if (status === 'timeout') return `it took longer than ${timeoutMs} ms and was aborted`;
  if (exitCode === NO_NODE) return 'there is no Node in the sandbox, which its code needs; add it to the image of the agent';
  const how = signal === undefined ? `with exit code ${exitCode ?? 'unknown'}` : `by ${signal}`;
  const said = stderr.text.trim();
  const dropped = stdout.droppedBytes ? `, of which ${stdout.droppedBytes} bytes were not kept: it is too long, or the disk has no space` : '';
  return `its process ended ${how}${limit ? ` (the sandbox has no ${limit} left)` : ''} and gave no result${dropped}${said ? `; its last output:\n${said.slice(-2_000)}` : ''}`;
}
