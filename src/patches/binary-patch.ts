import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~';
const BASE = 85;
const LINE_BYTES = 52;
const LETTERS = 26;
const NO_BLOB = '0'.repeat(40);
const compressed = promisify(deflate);

/** The name that git gives to a content; undefined: of a file that is not there. */
export function blobName(content: Buffer | undefined): string {
  if (content === undefined) return NO_BLOB;
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}

/** Both contents whole, in git's format for binary files; git can apply and take back such a patch. */
export async function binaryPatch(before: Buffer, after: Buffer): Promise<string> {
  return `GIT binary patch\n${await literal(after)}\n${await literal(before)}\n`;
}

async function literal(content: Buffer): Promise<string> {
  const packed = await compressed(content);
  const lines = [`literal ${content.length}\n`];
  for (let at = 0; at < packed.length; at += LINE_BYTES) {
    const line = packed.subarray(at, at + LINE_BYTES);
    const length = line.length <= LETTERS ? 'A'.charCodeAt(0) + line.length - 1 : 'a'.charCodeAt(0) + line.length - LETTERS - 1;
    lines.push(`${String.fromCharCode(length)}${base85(line)}\n`);
  }
  return lines.join('');
}

function base85(bytes: Buffer): string {
  const padded = Buffer.alloc(Math.ceil(bytes.length / 4) * 4);
  bytes.copy(padded);
  let text = '';
  for (let at = 0; at < padded.length; at += 4) {
    let value = padded.readUInt32BE(at);
    let group = '';
    for (let digit = 0; digit < 5; digit += 1) {
      group = `${DIGITS[value % BASE]}${group}`;
      value = Math.floor(value / BASE);
    }
    text += group;
  }
  return text;
}
