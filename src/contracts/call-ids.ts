import { makeId } from './ids.ts';

/**
 * The ids of tool calls and of the commands that they start. Each is made of where it comes from, so that a repeated attempt makes the same:
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

/** Id of the n-th command, from 1, of a call; or of a tool in the sandbox, by the tool's own exec. */
export function execOf(id: string, number: number): string {
  return `${id}-${number}`;
}

/** Id of a command that belongs to no call. */
export function freeExec(): string {
  return makeId('call', Date.now(), Math.random);
}

/** How deep in code that was called by code a call is: 0 for the model's. */
export function depthOfCall(callId: string): number {
  return callId.match(OF_CODE)?.length ?? 0;
}

/** True for the commands of a call itself, with those that a tool in the sandbox asked for while it ran as one of them. Calls of code have their own. */
export function isExecOf(callId: string, execId: string): boolean {
  return execId.startsWith(callId) && NUMBERS.test(execId.slice(callId.length));
}

/** True for those of a call's commands that the call started itself; these are numbered without a gap. */
export function isDirectExecOf(callId: string, execId: string): boolean {
  return isExecOf(callId, execId) && !execId.slice(callId.length + 1).includes('-');
}

/** True for all that was started under an exec: commands that its tool asked for, and the commands of calls that their code made. */
export function isUnderExec(parentId: string, execId: string): boolean {
  return execId.startsWith(`${parentId}-`);
}
