import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * `lsk`: a key of the HTTP service. `lsl`: a link to one approval. `lsf`: a link to one file. `lsp`: a link to a port of a sandbox. `lsw`: the address of a webhook
 * of a plugin.
 */
type Prefix = 'lsk' | 'lsl' | 'lsf' | 'lsp' | 'lsw';

/** A key as text: `lsk_<id>_<secret><checksum>`. Scanners for leaked secrets find it by its prefix, and a typing error by its checksum. */
export interface KeyText {
  keyId: string;
  secret: string;
  text: string;
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 12;
/** 190 bits. */
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
/** The lengths above. */
const KEY = /^(lsk|lsl|lsf|lsp|lsw)_([0-9A-Za-z]{12})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

export function makeKeyText(prefix: Prefix = 'lsk'): KeyText {
  const [keyId, secret] = [randomText(ID_LENGTH), randomText(SECRET_LENGTH)];
  return { keyId, secret, text: `${prefix}_${keyId}_${secret}${checksumOf(keyId, secret)}` };
}

/** Undefined when the text is no key, or was changed on its way. */
export function readKeyText(text: string, prefix: Prefix = 'lsk'): KeyText | undefined {
  const [, kind, keyId = '', secret = '', checksum] = KEY.exec(text) ?? [];
  return kind === prefix && checksum === checksumOf(keyId, secret) ? { keyId, secret, text } : undefined;
}

/** What is stored of a secret. A fast hash is enough, since secrets are random and long. */
export function sha256Of(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Whether the text has the secret of which this is stored. What is not known is compared too, so that the answer takes as long. */
export function hasSecret(given: KeyText | undefined, stored: Buffer | undefined): boolean {
  const isEqual = timingSafeEqual(sha256Of(given?.secret ?? ''), stored ?? Buffer.alloc(32));
  return isEqual && given !== undefined && stored !== undefined;
}

function checksumOf(keyId: string, secret: string): string {
  let [rest, text] = [crc32(keyId + secret), ''];
  while (text.length < CHECKSUM_LENGTH) [rest, text] = [Math.floor(rest / ALPHABET.length), ALPHABET.charAt(rest % ALPHABET.length) + text];
  return text;
}

/** Bytes beyond the last multiple of the alphabet's length are left out, so that each character is equally likely. */
function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) if (byte < 248 && text.length < length) text += ALPHABET.charAt(byte % ALPHABET.length);
  }
  return text;
}
