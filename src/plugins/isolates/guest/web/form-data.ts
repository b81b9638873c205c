import { blobBytes, GuestFile, isBlob, joinedBytes } from './blob.ts';
import { encodeUtf8 } from './text-codecs.ts';
import { stringOf } from './string-of.ts';

type Value = string | GuestFile;

/** Fields of a form, with files. */
export class GuestFormData {
  #fields: [string, Value][] = [];

  append(name: unknown, value: unknown, filename?: unknown): void {
    this.#fields.push([stringOf(name), valueOf(value, filename)]);
  }

  delete(name: unknown): void {
    this.#fields = this.#fields.filter(([key]) => key !== stringOf(name));
  }

  get(name: unknown): Value | null {
    return this.getAll(name)[0] ?? null;
  }

  getAll(name: unknown): Value[] {
    return this.#fields.filter(([key]) => key === stringOf(name)).map(([, value]) => value);
  }

  has(name: unknown): boolean {
    return this.#fields.some(([key]) => key === stringOf(name));
  }

  set(name: unknown, value: unknown, filename?: unknown): void {
    const key = stringOf(name);
    const at = this.#fields.findIndex(([each]) => each === key);
    const others = this.#fields.filter(([each]) => each !== key);
    others.splice(at === -1 ? others.length : at, 0, [key, valueOf(value, filename)]);
    this.#fields = others;
  }

  forEach(each: (value: Value, name: string, form: this) => void, self?: unknown): void {
    for (const [name, value] of this.entries()) each.call(self, value, name, this);
  }

  entries(): IterableIterator<[string, Value]> {
    return this.#fields.map(([name, value]): [string, Value] => [name, value]).values();
  }

  keys(): IterableIterator<string> {
    return this.#fields.map(([name]) => name).values();
  }

  values(): IterableIterator<Value> {
    return this.#fields.map(([, value]) => value).values();
  }

  [Symbol.iterator](): IterableIterator<[string, Value]> {
    return this.entries();
  }

  get [Symbol.toStringTag](): string {
    return 'FormData';
  }
}

/** Encodes a form as multipart/form-data, with a boundary that its fields do not contain. */
export function encodeForm(form: GuestFormData): { bytes: Uint8Array; type: string } {
  const fields = [...form].map(([name, value]) => partOf(name, value));
  for (let number = 0; ; number += 1) {
    const boundary = `----longshore-form-boundary-${stringOf(number).padStart(8, '0')}`;
    if (fields.some(({ head, body }) => holds(body, boundary) || head.includes(boundary))) continue;
    const parts = fields.flatMap(({ head, body }) => [encodeUtf8(`--${boundary}\r\n${head}\r\n\r\n`), body, encodeUtf8('\r\n')]);
    return { bytes: joinedBytes([...parts, encodeUtf8(`--${boundary}--\r\n`)]), type: `multipart/form-data; boundary=${boundary}` };
  }
}

function partOf(name: string, value: Value): { head: string; body: Uint8Array } {
  const head = `Content-Disposition: form-data; name="${quoted(name.replaceAll(/\r\n?|\n/g, '\r\n'))}"`;
  if (typeof value === 'string') return { head, body: encodeUtf8(value.replaceAll(/\r\n?|\n/g, '\r\n')) };
  const type = value.type || 'application/octet-stream';
  return { head: `${head}; filename="${quoted(value.name)}"\r\nContent-Type: ${type}`, body: blobBytes(value) };
}

function quoted(text: string): string {
  return text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

function holds(bytes: Uint8Array, text: string): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(text);
}

function valueOf(value: unknown, filename: unknown): Value {
  if (!isBlob(value)) return stringOf(value);
  const name = filename === undefined ? (value instanceof GuestFile ? value.name : 'blob') : stringOf(filename);
  return harden(new GuestFile([value], name, { type: value.type }));
}

harden(GuestFormData);
