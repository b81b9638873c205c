import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { failure } from '../../contracts/errors.ts';
import { cutMiddle, visibleLine } from '../../contracts/visible-text.ts';
import type { EncryptionKey, EncryptionKeys } from '../../platform/encryption-keys.ts';

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;
const ENCODING = 'binary/encrypted';
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SHOWN_ID = 64;

/**
 * Encrypts payloads for Temporal with AES-256-GCM: the whole payload, with its metadata. The id of the key and the form are authenticated. The place of a
 * payload (workflow, event, field) is not: the same payload is valid in several places, and Temporal's UI decodes it without its place. Payloads that are not
 * encrypted pass as they are, so that conversations from before go on.
 */
export function createPayloadCodec({ first, byId }: EncryptionKeys): PayloadCodec {
  return {
    encode: async (payloads) => (first ? payloads.map((payload) => sealPayload(payload, first)) : payloads),
    decode: async (payloads) => payloads.map((payload) => (isSealed(payload) ? openPayload(payload, byId) : payload)),
  };
}

export function isSealed(payload: Payload): boolean {
  return textOf(payload, 'encoding') === ENCODING;
}

export function sealPayload(payload: Payload, { id, key }: EncryptionKey): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(boundTo(id));
  const sealed = Buffer.concat([nonce, cipher.update(PayloadMessage.encode(payload).finish()), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { encoding: Buffer.from(ENCODING), 'encryption-key-id': Buffer.from(id) }, data: sealed };
}

export function openPayload(payload: Payload, keys: EncryptionKeys['byId']): Payload {
  const id = textOf(payload, 'encryption-key-id');
  const key = keys.get(id);
  // The id comes from the database of Temporal.
  const keyId = cutMiddle(visibleLine(id), SHOWN_ID);
  if (!key) throw failure('ENCRYPTION_KEY_UNKNOWN', { keyId, known: [...keys.keys()].join(', ') || 'none' });
  const sealed = payload.data ?? new Uint8Array();
  try {
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES }).setAAD(boundTo(id));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const text = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    const { metadata, data } = PayloadMessage.decode(text);
    return { metadata, data };
  } catch (error) {
    throw failure('PAYLOAD_UNREADABLE', { keyId }, error);
  }
}

/** What is authenticated besides the payload. */
function boundTo(id: string): Buffer {
  return Buffer.from(`longshore payload 1\0${ENCODING}\0${id}`);
}

function textOf({ metadata }: Payload, name: string): string {
  const value = metadata?.[name];
  return value ? Buffer.from(value).toString() : '';
}
