import { makeId } from './ids.ts';

/**
 * The ids of tool calls and of the commands that they start. Each id is derived from its origin, so that a repeated attempt makes the same id:
 *
 *   call  =  call_<of its step><position>    asked for by the model
 *         |  <exec>m<number>                 asked for by code that runs as the exec; the supervisor numbers these
 *   exec  =  <call>-<number>                 a command of the call
 *         |  <exec>-<number>                 a command that a tool in the sandbox, which runs as the exec, asked for
 *
 * A command that belongs to no call has a random id.
 */
const STEP = /^step_/;
const POSITION_DIGITS = 2;
const OF_CODE = /-\d+m\d+/g;
const NUMBERS = /^-\d+(-\d+)?$/;

/** Id of the n-th call, from 0, that a model's answer asks for. */
export function callOfStep(stepId: string, position: number): string {
  return `${stepId.replace(STEP, 'call_')}${String(position).padStart(POSITION_DIGITS, '0')}`;
}

/** Id of the n-th call, from 1, of the code that runs as the exec. */
export function callOfCode(execId: string, number: number): string {
  return `${execId}m${number}`;
}

/** Id of the n-th command, from 1, of a call. For a tool in the sandbox, `id` is the tool's own exec. */
export function execOf(id: string, number: number): string {
  return `${id}-${number}`;
}

/** Id of a command that belongs to no call. */
export function freeExec(): string {
  return makeId('call', Date.now(), Math.random);
}

/** How many levels of code made the call: 0 for a call of the model. */
export function depthOfCall(callId: string): number {
  return callId.match(OF_CODE)?.length ?? 0;
}

/**
 * True for the commands of the call itself, including those that a tool in the sandbox requested while it ran as one of them. Calls that code makes have
 * commands of their own.
 */
export function isExecOf(callId: string, execId: string): boolean {
  return execId.startsWith(callId) && NUMBERS.test(execId.slice(callId.length));
}

/** True for the commands that the call started itself; their numbers have no gap. */
export function isDirectExecOf(callId: string, execId: string): boolean {
  return isExecOf(callId, execId) && !execId.slice(callId.length + 1).includes('-');
}

/** True for everything that was started under an exec: commands that its tool requested, and the commands of calls that their code made. */
export function isUnderExec(parentId: string, execId: string): boolean {
  return execId.startsWith(`${parentId}-`);
}
