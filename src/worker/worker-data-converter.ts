import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { createPayloadCodec } from '../client/temporal/payload-codec.ts';
import type { EncryptionKeys } from '../platform/encryption-keys.ts';

const FAILURE_CONVERTER = fileURLToPath(new URL('failure-converter.cjs', import.meta.url));

/** Decrypts what the keys can, and encrypts with the first. With encryption, messages and stacks of errors are payloads too. */
export function workerDataConverter(keys: EncryptionKeys): DataConverter {
  return { payloadCodecs: [createPayloadCodec(keys)], ...(keys.first && { failureConverterPath: FAILURE_CONVERTER }) };
}
