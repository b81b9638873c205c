import { failure, type LongshoreError } from '../../contracts/errors.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import type { RecordOf } from './protocol-types.ts';

/** No connection to a port of the guest. */
export function portClosed(problem: string, { port }: JsonObject, sandboxId: string): LongshoreError {
  return failure('PORT_CLOSED', { port: Number(port), sandboxId, problem });
}

/** Translates a refusal of the supervisor into an error of the table. `fields` are those of the request. */
export function translateFailure(refused: RecordOf<'failure'>, fields: JsonObject, sandboxId: string): LongshoreError {
  const { code, problem } = refused;
  const execId = textOf(fields['execId']);
  const path = textOf(fields['path'] ?? fields['from']);
  switch (code) {
    case 'USER_NOT_FOUND':
      return unknownUser(textOf(fields['user']), problem, sandboxId);
    case 'EXEC_NOT_FOUND':
      return failure('EXEC_NOT_FOUND', { execId, sandboxId });
    case 'EXEC_MISMATCH':
      return failure('EXEC_MISMATCH', { execId });
    case 'EXEC_FAILED':
      return failure('EXEC_FAILED', { problem });
    case 'FILE_NOT_FOUND':
      return failure('FILE_NOT_FOUND', { path });
    case 'FILE_CHANGED':
      return failure('FILE_CHANGED', { path, problem });
    case 'FILE_FAILED':
      return fileFailed(path, problem);
    case 'PORT_CLOSED':
      return portClosed(problem, fields, sandboxId);
    case 'INVALID_ARGUMENT':
      return refusal(problem);
    default:
      return ofSandbox(code, problem, sandboxId);
  }
}

/** What does not depend on the request. */
function ofSandbox(code: 'SUPERSEDED' | 'INTERNAL', problem: string, sandboxId: string): LongshoreError {
  if (code === 'SUPERSEDED') return failure('SANDBOX_SUPERSEDED', { sandboxId, problem });
  // The text of a supervisor that is being stopped: the operation was not begun.
  if (problem === 'the sandbox is being stopped') return failure('SANDBOX_LOST', { sandboxId, problem: 'it is being stopped' });
  return failure('INTERNAL', { problem: `the supervisor of sandbox "${sandboxId}" failed: ${problem}` });
}

function fileFailed(path: string, problem: string): LongshoreError {
  // Supervisors of earlier images send this text, because they do not know the code FILE_CHANGED.
  if (problem === 'was changed meanwhile') return failure('FILE_CHANGED', { path, problem: 'it is not as it was read' });
  return failure('FILE_FAILED', { path, problem });
}

/** The part after the semicolon says what to do. */
function refusal(text: string): LongshoreError {
  const [, problem = text, fix = 'correct the argument'] = /^(.*?); (.*)$/s.exec(text) ?? [];
  return failure('INVALID_ARGUMENT', { what: 'The sandbox refused the request', problem, fix: fix.charAt(0).toUpperCase() + fix.slice(1) });
}

function unknownUser(user: string, known: string, sandboxId: string): LongshoreError {
  const fix =
    user === 'root' ? 'Commands of a sandbox cannot run as root; put what needs root under setup in a template' : 'Name it under users in the template';
  return failure('USER_NOT_FOUND', { sandboxId, user, known, fix });
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
