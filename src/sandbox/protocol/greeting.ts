import { failure, isFailure } from '../../contracts/errors.ts';
import { unsent } from './call.ts';
import { PROTOCOL_VERSION } from './frames.ts';
import type { Link } from './link.ts';
import type { EndOf } from './protocol-types.ts';
import { parseMessage } from './validate-messages.ts';

/** Terms of a sandbox as a whole. */
export interface SandboxTerms {
  /** The most bytes that its files may take up; commands that exceed it are ended. 0, the default: only the storage limits them. */
  diskBytes?: number;
  /** Number of the container. The supervisor refuses a worker that gives a lower number than another worker has given. */
  fence?: number;
}

const UNKNOWN_FIELD = "hello has no field 'fence'";

/** Greets a supervisor. Those of earlier images do not know the numbers of containers; they are greeted without. @throws SANDBOX_SUPERSEDED */
export async function greet(link: Link, sandboxId: string, terms: SandboxTerms): Promise<EndOf<'hello'>> {
  const { fence, ...others } = terms;
  const theirs = await hello(link, terms).catch((error: unknown) => {
    if (fence !== undefined && isFailure(error, 'INVALID_ARGUMENT') && error.values['problem'] === UNKNOWN_FIELD) return hello(link, others);
    throw error;
  });
  if (fence !== undefined && theirs.fence !== undefined && theirs.fence !== fence) {
    throw failure('SANDBOX_SUPERSEDED', { sandboxId, problem: `its supervisor is that of container number ${theirs.fence}, not ${fence}` });
  }
  return theirs;
}

function hello(link: Link, terms: SandboxTerms): Promise<EndOf<'hello'>> {
  return new Promise((resolve, reject) => {
    link.send({
      ...unsent({ operation: 'hello', fields: () => ({ version: PROTOCOL_VERSION, ...terms }) }),
      finish: (end) => resolve(parseMessage('hello', 'end', end)),
      fail: reject,
    });
  });
}
