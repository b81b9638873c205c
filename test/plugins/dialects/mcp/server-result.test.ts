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
