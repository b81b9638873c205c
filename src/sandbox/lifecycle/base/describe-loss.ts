import { contextOfExec } from '../../handle/code/context-names.ts';
import { isServerExec } from '../../handle/code/server-names.ts';
import type { ContainerState } from '../../engine/engine.ts';

/** Of a container whose first process got KILL from outside: within it, no process can do that. */
const KILLED = 137;

/** Why a container ended that was not stopped, as text for the model and the operator. */
export function describeDeath(state: ContainerState | undefined): string {
  if (state === undefined) return 'its container is gone';
  if (state.outOfMemory) return 'its container ran out of memory and was ended';
  if (state.exitCode === KILLED)
    return `its container was killed from outside (exit code ${KILLED}): by a program, or by the kernel when its machine had no memory left`;
  return `its container ended by itself${state.exitCode === undefined ? '' : ` (exit code ${state.exitCode})`}`;
}

/** What the files are of that replace lost ones. */
export interface FilesOf {
  what: 'snapshot' | 'backup';
  /** When they were so. ISO 8601. */
  at: string;
}
export interface LostExec {
  execId: string;
  command: string;
}

const NAMED = 10;
const COMMAND_CHARACTERS = 120;

/** What was lost, as a paragraph; `undefined` when nothing was. */
export function describeLoss(loss: { cause: string; filesLost: boolean; filesOf?: FilesOf; execs: LostExec[]; expected: boolean }): string | undefined {
  const { cause, filesLost, filesOf, expected } = loss;
  // Servers are started again on their next call, and report the loss themselves.
  const execs = loss.execs.filter(({ execId }) => !isServerExec(execId));
  if (expected && !filesLost && execs.length === 0) return undefined;
  const instead = filesOf === undefined ? 'it starts empty' : `it starts with those of its ${filesOf.what} of ${filesOf.at}`;
  const files = filesLost ? `Its files are gone as well; ${instead}.` : 'The files under /home are kept; /tmp is empty.';
  return `The sandbox was started anew: ${cause}. ${files} ${describeExecs(execs, filesLost)}`;
}

/** The journal is among the files. */
function describeExecs(execs: LostExec[], filesLost: boolean): string {
  const contexts = execs.flatMap(({ execId }) => contextOfExec(execId) ?? []);
  const commands = execs.filter(({ execId }) => contextOfExec(execId) === undefined);
  const variables = contexts.length === 0 ? '' : ` Code contexts whose variables are gone: ${listed(contexts)}.`;
  if (commands.length === 0) return `${filesLost ? 'Which commands were cut off is not known.' : 'No command was cut off without a result.'}${variables}`;
  const named = commands.map(({ execId, command }) => `\`${shorten(command)}\` (${execId})`);
  return `Cut off while running, with unknown effect, and not run again: ${listed(named)}.${variables}`;
}

function listed(names: string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return names.slice(0, NAMED).join(', ') + more;
}

function shorten(command: string): string {
  const line = command.replaceAll(/\s+/g, ' ').trim();
  return line.length > COMMAND_CHARACTERS ? `${line.slice(0, COMMAND_CHARACTERS)}… (${line.length - COMMAND_CHARACTERS} more characters)` : line;
}
