import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { signInNeededIn } from '../../../../oauth/sign-in-needed.ts';

/**
 * What a worker remembers of a server from one connection to the next, so that only the first one has to find out which generation of the protocol the server
 * speaks. It holds until a connection fails that was made because of it.
 */
export interface Remembered {
  /** It speaks the revisions of 2025, which begin with a handshake. */
  isOlder?: boolean;
  /** It did not answer in time, in neither generation. */
  isSlow?: boolean;
}

const [PROBE_MS, LONGEST_PROBE_MS] = [10_000, 30_000];

export function probeTime({ isSlow = false }: Remembered): number {
  return isSlow ? LONGEST_PROBE_MS : PROBE_MS;
}

/**
 * Whether a server that could not be asked which generation it speaks may speak the older one: some end, are silent or fail at a request before the handshake. One that
 * wants a sign-in first does that in both.
 */
export function mayBeOlder(error: unknown): boolean {
  const isOpen = error instanceof SdkError && (error.code === SdkErrorCode.EraNegotiationFailed || error.code === SdkErrorCode.RequestTimeout);
  return isOpen && signInNeededIn(error) === undefined;
}
