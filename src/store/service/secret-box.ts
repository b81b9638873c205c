import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { failure } from '../../contracts/errors.ts';
import type { EncryptionKeys } from '../../platform/encryption-keys.ts';

/** Secrets that have to be read again, as the database has them. `of` names what a secret belongs to: in another place it cannot be read. */
export interface SecretBox {
  /** Whether there is a key that encrypts. */
  seals: boolean;
  seal(text: string, of: string): string;
  /** A text that was stored without a key is given as it is. @throws ENCRYPTION_KEY_UNKNOWN, SECRET_UNREADABLE */
  open(stored: string, of: string): string;
}

/** `sealed:1:<id of the key>:<nonce, text and tag in base64>`. No secret of ours begins like this. */
const SEALED = /^sealed:1:([^:]+):([A-Za-z0-9+/=]+)$/;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Without a first key, secrets are stored as text. */
export function createSecretBox({ first, byId }: EncryptionKeys): SecretBox {
  return {
    seals: first !== undefined,
    seal(text, of) {
      if (!first) return text;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, first.key, nonce).setAAD(boundTo(first.id, of));
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `sealed:1:${first.id}:${sealed.toString('base64')}`;
    },
    open(stored, of) {
      const [, keyId = '', base64 = ''] = SEALED.exec(stored) ?? [];
      if (keyId === '') return stored;
      const key = byId.get(keyId);
      if (!key) throw failure('ENCRYPTION_KEY_UNKNOWN', { keyId, known: [...byId.keys()].join(', ') || 'none' });
      const sealed = Buffer.from(base64, 'base64');
      try {
        const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES }).setAAD(boundTo(keyId, of));
        decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8');
      } catch (error) {
        throw failure('SECRET_UNREADABLE', { keyId, of }, error);
      }
    },
  };
}

/** What is authenticated besides the secret. */
function boundTo(keyId: string, of: string): Buffer {
  return Buffer.from(`longshore secret 1\0${keyId}\0${of}`);
}
