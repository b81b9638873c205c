import { serverResultOf } from '../../../../src/plugins/dialects/mcp/server-result.ts';

const id = '9007199254740993';
const text = { type: 'text' as const, text: `{"id":${id}}` };
const rounded = { id: Number(id) };
const note = { type: 'text', text: 'Whole numbers beyond 9007199254740991 may have other last digits here.' };

test('the text of a server is given where its structured content has lost digits', () => {
  expect(serverResultOf({ content: [text], structuredContent: { id: 1 } })).toEqual({ id: 1 });
  expect(serverResultOf({ content: [text], structuredContent: rounded })).toBe(text.text);
});

test('structured content that has lost digits and has no text is given with a note', () => {
  expect(serverResultOf({ content: [], structuredContent: rounded })).toEqual({
    content: [{ type: 'text', text: '{"id":9007199254740992}' }, note],
    isError: false,
  });
  const image = { type: 'image' as const, data: 'AAAA', mimeType: 'image/png' };
  expect(serverResultOf({ content: [image], structuredContent: rounded })).toMatchObject({ content: [{}, { text: '{"id":9007199254740992}' }, note] });
});

test('structured content that no text repeats is given beside the texts where it is not the whole result', () => {
  const summary = { type: 'text' as const, text: 'Created.' };
  expect(serverResultOf({ content: [summary], structuredContent: rounded })).toEqual({
    content: [summary, { type: 'text', text: '{"id":9007199254740992}' }, note],
    isError: false,
  });
  const page = { content: [], page: 1 };
  expect(serverResultOf({ content: [summary], structuredContent: page })).toEqual({
    content: [summary, { type: 'text', text: JSON.stringify(page) }],
    isError: false,
  });
  const failed = { code: 'E_QUOTA' };
  expect(serverResultOf({ content: [summary], structuredContent: failed, isError: true })).toEqual({
    content: [summary, { type: 'text', text: JSON.stringify(failed) }],
    isError: true,
  });
  const repeated = { type: 'text' as const, text: '{\n  "page": 1,\n  "content": []\n}' };
  expect(serverResultOf({ content: [repeated], structuredContent: page })).toBe(repeated.text);
});
