import { ATTACHMENT_LIMITS, type StoredMedia } from '../../../src/contracts/attachments/media.ts';
import type { ContentPart, StoredEntry } from '../../../src/contracts/transcript.ts';
import { estimateTokens } from '../../../src/models/context/prompt-size.ts';
import { withMedia, type TakenMedia } from '../../../src/models/media/prompt-media.ts';

const ALL: TakenMedia = { images: true, documents: ['application/pdf'] };
const NOTHING: TakenMedia = { images: false, documents: [] };
const blob = (digit: string) => `sha256:${digit.repeat(64)}`;
const image = (digit: string, bytes = 3): StoredMedia => ({ type: 'image', mediaType: 'image/png', name: `${digit}.png`, blob: blob(digit), bytes });
const file = (mediaType: string, bytes: number): StoredMedia => ({ type: 'file', mediaType, name: 'it.txt', blob: blob('f'), bytes });
const save = { tool: 'attachments:save', name: 'attachments_save', description: '', parameters: {} };
const DATA = Buffer.from('abc');
const base64 = (given: string | number[]) => Buffer.from(given as string).toString('base64');
const PNG = base64([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function entries(...contents: ContentPart[][]): StoredEntry[] {
  return contents.map((content, index) => ({ seq: index + 1, turnId: 'turn_1', at: '', entry: { role: 'user', content } }));
}

async function shown(takes: TakenMedia, content: ContentPart[], { data = DATA, tools = [save] }: { data?: Buffer | undefined; tools?: (typeof save)[] } = {}) {
  const readMedia = async (_blob: string, most = Infinity) => data.subarray(0, most);
  const [stored] = await withMedia({ transcript: entries(content), tools, readMedia }, takes);
  return stored?.entry.role === 'user' ? stored.entry.content : [];
}

test('a model that sees is given the bytes, with a line that names them', async () => {
  expect(await shown(ALL, [{ type: 'text', text: 'See.' }, image('1')])).toEqual([
    { type: 'text', text: 'See.' },
    { type: 'text', text: '[Attached image "1.png": image/png, 3 bytes, id sha256:111111111111]' },
    { type: 'image', mediaType: 'image/png', data: DATA.toString('base64') },
  ]);
  expect(await shown(ALL, [file('application/pdf', 3)])).toContainEqual({ type: 'file', mediaType: 'application/pdf', name: 'it.txt', data: 'YWJj' });
});

test('a model that does not see is told what is there, and how it gets it, if it can', async () => {
  const [told] = await shown(NOTHING, [image('1')]);
  expect(told).toEqual({
    type: 'text',
    text: '[Attached image "1.png": image/png, 3 bytes, id sha256:111111111111. This model does not see images. Write it into the sandbox with attachments_save and {"attachment": "sha256:111111111111", "path": "…"}.]',
  });
  expect(JSON.stringify(await shown(NOTHING, [image('1')], { tools: [] }))).not.toContain('sandbox');
  expect(await shown(NOTHING, [{ type: 'image', mediaType: 'image/png', data: PNG }])).toEqual([
    { type: 'text', text: '[Attached image: image/png, 8 bytes. This model does not see images.]' },
  ]);
  expect(JSON.stringify(await shown(NOTHING, [file('application/pdf', 5)], { data: Buffer.from('%PDF\0') }))).toContain('no document that this model reads');
});

test('text files are given as text, up to a size; what is left out is said', async () => {
  const most = ATTACHMENT_LIMITS.text;
  const [short] = await shown(ALL, [file('text/csv', 3)]);
  expect(short).toMatchObject({ text: '[Attached file "it.txt": text/csv, 3 bytes, id sha256:ffffffffffff. Its text:]\nabc\n[End of the file.]' });
  const long = Buffer.from('é'.repeat(most * 4));
  const [cut] = await shown(ALL, [file('text/plain', long.length)], { data: long });
  const { text } = cut as { text: string };
  expect(text.length).toBeLessThan(most + 500);
  expect(text).toMatch(/Its first 50000 characters:\]\né+\n\[The rest of the file is left out\. Write it into the sandbox/);
  expect(await shown(ALL, [file('text/plain', 3)], { data: Buffer.from('a\0b') })).toMatchObject([
    { text: expect.stringContaining('It is no text') as string },
  ]);
});

test.each<[string, ContentPart, string]>([
  ['a drawing', { type: 'image', mediaType: 'image/svg+xml', data: base64('<svg/>') }, 'text/plain, 6 bytes. Its text:]\n<svg/>\n[End of the file.]'],
  ['nothing', { type: 'image', mediaType: 'image/png', data: '' }, 'text/plain, 0 bytes. Its text:]'],
  ['what is no base 64', { type: 'image', mediaType: 'image/png', data: '!!!' }, 'text/plain, 0 bytes. Its text:]'],
  ['other bytes', { type: 'image', mediaType: 'image/png', data: base64([1, 0, 2]) }, 'application/octet-stream, 3 bytes. It is no text, and no document'],
  ['a table', { type: 'file', mediaType: 'text/csv', name: 'a.csv', data: base64('a,b') }, 'file "a.csv": text/csv, 3 bytes. Its text:]\na,b\n[End'],
  ['a file of no type', { type: 'file', mediaType: '', name: '', data: base64('a,b') }, 'file "": text/plain, 3 bytes. Its text:]\na,b'],
  ['a PDF that is none', { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: base64('a') }, 'text/plain, 1 bytes. Its text:]\na\n'],
])('of bytes in the transcript, a provider is given only what they are, whatever a tool calls them: %s', async (_what, part, told) => {
  expect(await shown(ALL, [part])).toEqual([{ type: 'text', text: expect.stringContaining(told) as string }]);
});

test('small images and documents in the transcript are given as they are, with the type that they have', async () => {
  const pdf = base64('%PDF-1.7');
  expect(await shown(ALL, [{ type: 'image', mediaType: 'image/jpg', data: PNG }])).toEqual([{ type: 'image', mediaType: 'image/png', data: PNG }]);
  expect(await shown(ALL, [{ type: 'file', mediaType: 'x', name: 'a.pdf', data: pdf }])).toEqual([
    { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: pdf },
  ]);
  const [told] = await shown(NOTHING, [{ type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: base64('%PDF-1.7\0') }]);
  expect(told).toMatchObject({ text: expect.stringContaining('no document that this model reads') as string });
});

test('the newest are given, up to a number and a size', async () => {
  const half = ATTACHMENT_LIMITS.bytesOfPrompt / 2;
  const transcript = entries([image('1', half)], [image('2', half)], [image('3', half)]);
  const shownEntries = await withMedia({ transcript, tools: [], readMedia: async () => DATA }, ALL);
  const given = shownEntries.map(({ entry }) => entry.role === 'user' && entry.content.some(({ type }) => type === 'image'));
  expect(given).toEqual([false, true, true]);
  expect(JSON.stringify(shownEntries[0])).toContain('Left out of this prompt');
  const many = await withMedia({ transcript: entries(Array.from({ length: 60 }, () => image('1'))), tools: [], readMedia: async () => DATA }, ALL);
  expect(JSON.stringify(many).split('"type":"image"')).toHaveLength(ATTACHMENT_LIMITS.ofPrompt + 1);
});

test('bytes that are not kept any more are told, and a prompt without any is as it was', async () => {
  const transcript = entries([image('1'), file('text/plain', 3)]);
  const told = await withMedia({ transcript, tools: [], readMedia: async () => undefined }, ALL);
  expect(JSON.stringify(told).split('Its bytes are not kept any more')).toHaveLength(3);
  const plain = entries([{ type: 'text', text: 'Ahoy.' }]);
  expect(await withMedia({ transcript: plain, tools: [] }, ALL)).toBe(plain);
});

test('the estimate of a prompt counts images, texts and documents by what they are', () => {
  expect(estimateTokens(image('1', 10_000_000))).toBeGreaterThan(1_600);
  expect(estimateTokens(image('1', 10_000_000))).toBeLessThan(1_800);
  expect(estimateTokens(file('text/plain', 3_000))).toBeGreaterThan(1_000);
  expect(estimateTokens(file('text/plain', 10_000_000))).toBeLessThan(20_000);
  expect(estimateTokens(file('application/pdf', 10_000_000))).toBeLessThan(151_000);
});
