import type { Payload } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { EncryptionKeys } from '../../platform/encryption-keys.ts';
import { isSealed, openPayload, sealPayload } from './payload-codec.ts';

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;
const SEALED = 'encrypted:';

/** A note of a schedule, as Temporal stores it: a text and no payload, so it is encrypted here. */
export function sealNote({ first }: EncryptionKeys, note: string): string {
  if (!first) return note;
  const payload = sealPayload({ data: Buffer.from(note) }, first);
  return `${SEALED}${Buffer.from(PayloadMessage.encode(payload).finish()).toString('base64')}`;
}

/** @throws ENCRYPTION_KEY_UNKNOWN, PAYLOAD_UNREADABLE */
export function openNote({ byId }: EncryptionKeys, stored: string): string {
  const payload = stored.startsWith(SEALED) ? decoded(Buffer.from(stored.slice(SEALED.length), 'base64')) : undefined;
  // A person may have written such a text in Temporal.
  if (!payload || !isSealed(payload)) return stored;
  return Buffer.from(openPayload(payload, byId).data ?? []).toString();
}

function decoded(bytes: Buffer): Payload | undefined {
  try {
    return PayloadMessage.decode(bytes);
  } catch {
    return undefined;
  }
}
