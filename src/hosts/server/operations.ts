import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { SandboxCall, SandboxCallName } from '../channel/calls.ts';
import { CHECKPOINT_OPERATIONS } from './checkpoint-operations.ts';
import { COMMAND_OPERATIONS } from './command-operations.ts';
import { FILE_OPERATIONS } from './file-operations.ts';
import { PORT_OPERATIONS } from './port-operations.ts';
import { TERMINAL_OPERATIONS } from './terminal-operations.ts';
import type { Operation, Wire } from './wire.ts';

const OPERATIONS: { [Name in SandboxCallName]: Operation<Name> } = {
  ...FILE_OPERATIONS,
  ...COMMAND_OPERATIONS,
  ...PORT_OPERATIONS,
  ...TERMINAL_OPERATIONS,
  ...CHECKPOINT_OPERATIONS,
};

/** Does what a call asks of a sandbox. */
export function operate(handle: WorkerHandle, call: SandboxCall, wire: Wire): Promise<void> {
  return (OPERATIONS[call.do] as Operation<SandboxCallName>)(handle, call, wire);
}
