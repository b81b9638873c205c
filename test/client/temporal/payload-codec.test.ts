import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { createPayloadCodec } from '../../../src/client/temporal/payload-codec.ts';
import { openNote, sealNote } from '../../../src/client/temporal/sealed-note.ts';
import { readEncryptionKeys } from '../../../src/platform/encryption-keys.ts';

const key = () => randomBytes(32).toString('base64');
const [old, young] = [`old:${key()}`, `young:${key()}`];
const codecOf = (text?: string) => createPayloadCodec(readEncryptionKeys(text));
const payloads = ['text', { a: [1, null] }, new Uint8Array([0, 255]), undefined].map<Payload>((value) => defaultPayloadConverter.toPayload(value));
const bytesOf = (given: Payload[]) =>
  given.map(({ metadata, data }) => [
    Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString()]),
    Buffer.from(data ?? []).toString('hex'),
  ]);

test('what a key encrypts, the same key decrypts to equal payloads; without keys, payloads pass unchanged', async () => {
  const sealed = await codecOf(old).encode(payloads);
  expect(bytesOf(await codecOf(old).decode(sealed))).toEqual(bytesOf(payloads));
  expect(Buffer.from(sealed[0]!.data!).includes('text')).toBe(false);
  expect(Buffer.from(sealed[0]!.metadata!['encoding']!).toString()).toBe('binary/encrypted');
  expect(await codecOf().encode(payloads)).toEqual(payloads);
});

test('the same payload is never the same bytes twice', async () => {
  const [one, two] = await codecOf(old).encode([payloads[0]!, payloads[0]!]);
  expect(Buffer.from(one!.data!).equals(Buffer.from(two!.data!))).toBe(false);
});

test('keys are rotated: a new first key encrypts, the former one still decrypts, and so do payloads from before encryption', async () => {
  const before = await codecOf(old).encode(payloads);
  const rotated = codecOf(`${young},${old}`);
  expect(bytesOf(await rotated.decode([...before, ...payloads]))).toEqual(bytesOf([...payloads, ...payloads]));
  const after = await rotated.encode(payloads);
  expect(bytesOf(await codecOf(young).decode(after))).toEqual(bytesOf(payloads));
  expect(bytesOf(await codecOf(`none,${young}`).decode(after))).toEqual(bytesOf(payloads));
});

test('a payload with an unknown key is an error that names the id and what to do', async () => {
  const sealed = await codecOf(old).encode(payloads);
  const message = (known: string) =>
    `This was encrypted with the key "old", which this process does not have (it has ${known}). Add that key to LONGSHORE_ENCRYPTION_KEYS of every worker, service and client, and start them again`;
  await expect(codecOf().decode(sealed)).rejects.toMatchObject({ code: 'ENCRYPTION_KEY_UNKNOWN', message: message('none') });
  await expect(codecOf(young).decode(sealed)).rejects.toMatchObject({ code: 'ENCRYPTION_KEY_UNKNOWN', message: message('young') });
});

test('a payload that was changed, or that names another key than its own, is refused', async () => {
  const same = key();
  const codec = codecOf(`a:${same},b:${same}`);
  const [sealed] = await codec.encode([payloads[0]!]);
  const renamed = { ...sealed, metadata: { ...sealed!.metadata, 'encryption-key-id': Buffer.from('b') } };
  const changed = [0, 12, sealed!.data!.length - 1].map((at) => {
    const data = Buffer.from(sealed!.data!);
    data[at]! ^= 1;
    return { ...sealed, data };
  });
  const short = [0, 11, 27].map((length) => ({ ...sealed, data: sealed!.data!.subarray(0, length) }));
  for (const bad of [renamed, ...changed, ...short]) await expect(codec.decode([bad])).rejects.toMatchObject({ code: 'PAYLOAD_UNREADABLE' });
});

test('the id in a payload of an attacker does not reach an error as it is', async () => {
  const metadata = { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from(`\u001b[2J${'x'.repeat(10_000)}`) };
  const error = await codecOf(old)
    .decode([{ metadata }])
    .catch((reason: unknown) => reason as Error);
  expect((error as Error).message).toContain('\\u001b[2J');
  expect((error as Error).message.length).toBeLessThan(500);
});

test('notes of schedules are encrypted too, and texts that people wrote in Temporal are read as they are', () => {
  const keys = readEncryptionKeys(old);
  const stored = sealNote(keys, 'holidays');
  expect(stored).not.toContain('holidays');
  expect(openNote(keys, stored)).toBe('holidays');
  expect(sealNote(readEncryptionKeys(undefined), 'holidays')).toBe('holidays');
  for (const text of ['holidays', 'encrypted: yes', 'encrypted:']) expect(openNote(keys, text)).toBe(text);
  expect(() => openNote(readEncryptionKeys(young), stored)).toThrow(expect.objectContaining({ code: 'ENCRYPTION_KEY_UNKNOWN' }));
});
