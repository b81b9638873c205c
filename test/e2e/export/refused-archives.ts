import { createHash } from 'node:crypto';
import { ABOUT, archiveOf, packed, type Item } from './make-archive.ts';

export const HI = { role: 'user', content: [{ type: 'text', text: 'Hi.' }] };
const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const blob = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const withFiles = (...files: Item[]) => archiveOf([HI], files);
const attached = (bytes: Buffer, as: 'image' | 'file') => ({
  role: 'user',
  content: [{ type: as, mediaType: 'image/png', name: 'a', blob: blob(bytes), bytes: bytes.length }],
});
const named = (bytes: Buffer) => `attachments/${blob(bytes).replace(':', '-')}`;
const about = (change: object) =>
  packed([
    { name: 'conversation.json', text: JSON.stringify({ ...ABOUT, transcript: { count: 0, lastSeq: 0 }, events: { count: 0, lastSeq: 0 }, ...change }) },
  ]);
const whole = archiveOf([HI]);
const WHOLE = 'Give a file as an export has written it';
/** What is refused, by name, with the error. */
export const REFUSED: [string, Promise<Buffer>, string | RegExp][] = [
  [
    'no gzip',
    Promise.resolve(Buffer.from('hello')),
    /^This archive cannot be imported: it is no \.tar\.gz, or it is cut or damaged \(incorrect header check\)\. Give a whole file/,
  ],
  ['a cut one', whole.then((bytes) => bytes.subarray(0, -20)), /it is cut or damaged \(unexpected end of file\)/],
  [
    'a damaged one',
    whole.then((bytes) => Buffer.concat([bytes.subarray(0, 40), Buffer.from('xxxxxxxx'), bytes.subarray(48)])),
    /it is no \.tar\.gz, or it is cut or damaged/,
  ],
  ['an empty one', Promise.resolve(Buffer.alloc(0)), /conversation\.json is not at its beginning|cut or damaged/],
  [
    'a tar of other things',
    packed([{ name: 'a.txt', text: 'a' }]),
    'conversation.json is not at its beginning. Give a file that an export has written; one that was packed again has them in the order README.md, conversation.json, transcript.md, transcript.jsonl, events.jsonl, attachments/, files/',
  ],
  ['another version', about({ version: 2 }), 'it has the version 2 of its format, and only 1 is known here. Import it with longshore 0.0.0 or a newer one'],
  ['a time that no database has', about({ exportedAt: '0000-01-01T00:00:00Z' }), /conversation\.json is not that of an export \(exportedAt: /],
  ['no export', about({ format: 'x' }), /conversation\.json is not that of an export \(format: /],
  ['no transcript', about({}), 'transcript.jsonl is not in it. Give a whole file that an export has written'],
  ['an agent that is not here', about({ agentId: 'nobody' }), /No agent named "nobody"/],
  [
    'fewer entries than it says',
    archiveOf([HI], [], { transcript: { count: 2, lastSeq: 2 } }),
    `transcript.jsonl has 1 lines up to number 1, and conversation.json says 2 up to 2. ${WHOLE}`,
  ],
  ['a line that is no entry', archiveOf([HI, { role: 'king' }]), /line 2 of transcript\.jsonl is no entry of a transcript \(entry/],
  ['a field that is not known', archiveOf([{ ...HI, system: true }]), /line 1 of transcript\.jsonl is no entry of a transcript \(entry: /],
  ['another file twice', archiveOf([HI], [{ name: 'transcript.jsonl', text: '' }]), `"transcript.jsonl" is in it twice. ${WHOLE}`],
  ['an event that is none', archiveOf([HI], [{ name: 'events.jsonl', text: '{"seq":1}\n' }]), `line 1 of events.jsonl is no event. ${WHOLE}`],
  ['events that are null', archiveOf([HI], [{ name: 'events.jsonl', text: 'null\n' }]), `line 1 of events.jsonl is no event. ${WHOLE}`],
  [
    'JSON that is too deep',
    archiveOf([HI], [{ name: 'events.jsonl', text: `${'['.repeat(2000)}${']'.repeat(2000)}\n` }]),
    `line 1 of events.jsonl is nested more than 500 levels deep. ${WHOLE}`,
  ],
  ['text that is no UTF-8', archiveOf([HI], [{ name: 'events.jsonl', bytes: Buffer.from([0xff, 0x0a]) }]), `line 1 of events.jsonl is no UTF-8. ${WHOLE}`],
  [
    'an attachment with other bytes',
    archiveOf([attached(png, 'image')], [{ name: named(png), text: 'x' }]),
    `the bytes of "${named(png)}" are not those that its name says. ${WHOLE}`,
  ],
  [
    'an image that is none',
    archiveOf([attached(Buffer.from('text'), 'image')], [{ name: named(Buffer.from('text')), text: 'text' }]),
    /the transcript calls ".*" an image, and it is none/,
  ],
  [
    'a file outside',
    withFiles({ name: 'files/../../etc/passwd', text: 'x' }),
    '"../../etc/passwd" is no path of a file. Take it out of the archive, or import without files',
  ],
  ['an absolute path', withFiles({ name: 'files//etc/passwd', text: 'x' }), '"/etc/passwd" is no path of a file'],
  ['a link', withFiles({ name: 'files/link', type: 'symlink', linkname: '/etc/passwd' }), '"link" is neither a file nor a directory'],
  ['a device', withFiles({ name: 'files/null', type: 'character-device' }), '"null" is neither a file nor a directory'],
  ['a file below a file', withFiles({ name: 'files/a', text: 'x' }, { name: 'files/a/b', text: 'x' }), '"a" is a file, and has "a/b" below it'],
  ['a file that is a directory', withFiles({ name: 'files/a/b', text: 'x' }, { name: 'files/a', text: 'x' }), '"a" is both a file and a directory'],
  [
    'many files that no export writes',
    archiveOf(
      [HI],
      Array.from({ length: 21 }, (_, index) => ({ name: `more-${index}` })),
    ),
    'it has many files that no export writes',
  ],
];
