import { createSecretKey, type KeyObject } from 'node:crypto';
import { failure } from '../contracts/errors.ts';

export interface EncryptionKey {
  id: string;
  /** Inspecting or logging it does not show its bytes. */
  key: KeyObject;
}

/** Keys of Temporal's payloads. */
export interface EncryptionKeys {
  /** Encrypts what is written. Absent: payloads are written as they are. */
  first?: EncryptionKey;
  /** All keys by their ids; each decrypts. */
  byId: ReadonlyMap<string, KeyObject>;
}

const NAME = 'LONGSHORE_ENCRYPTION_KEYS';
/** Stands in the place of the first key: payloads are decrypted but not encrypted, while processes get the keys one after the other. */
const NONE = 'none';
/** Short: the id is part of each payload, and Temporal limits the size of summaries. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;
const KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

/**
 * Reads `id1:base64,id2:base64`. The first key encrypts, all decrypt.
 * @throws CONFIG_INVALID; its message never has a part of the text that could be a key
 */
export function readEncryptionKeys(text: string | undefined): EncryptionKeys {
  const entries = (text ?? '').split(',').map((entry) => entry.trim());
  if (entries.length === 1 && entries[0] === '') return { byId: new Map() };
  const encrypts = entries[0] !== NONE;
  const given = encrypts ? entries : entries.slice(1);
  const byId = new Map<string, KeyObject>();
  const keys = given.map((entry, index) => readEntry(entry, encrypts ? index + 1 : index + 2));
  for (const { id, key } of keys) {
    if (byId.has(id)) throw invalid(`it has two keys with the id "${id}"`);
    byId.set(id, key);
  }
  const [first] = keys;
  return encrypts && first ? { first, byId } : { byId };
}

function readEntry(entry: string, position: number): EncryptionKey {
  const [id = '', base64, ...more] = entry.split(':');
  // Before it is certain that this is an id, it may be a key: it is not shown.
  if (base64 === undefined || more.length > 0 || !ID.test(id)) throw invalid(`entry ${position} is not of the form id:key`);
  if (!KEY.test(base64)) throw invalid(`the key with the id "${id}" is not 32 bytes in base64`);
  return { id, key: createSecretKey(Buffer.from(base64, 'base64')) };
}

function invalid(problem: string): Error {
  const fix = 'Write id:key, several separated by commas; an id has 1 to 32 letters, digits, ".", "_" and "-". Make a key with: openssl rand -base64 32';
  return failure('CONFIG_INVALID', { name: NAME, problem, fix });
}
