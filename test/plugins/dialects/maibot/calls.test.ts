import type { JsonObject } from '../../../../src/contracts/json.ts';
import { contextOf, problemOf, run } from '../../isolates/support.ts';
import { bench, call, header, hooks, text, toolOf, useSearch } from './search.ts';

useSearch();

describe('handlers', () => {
  const message = { text: 'find cats', content: [], at: '2026-01-01T00:00:00.000Z' };
  const context = contextOf('conv-1', { message: async () => message });

  test('are methods that get their parameters by name, with the defaults of those left out', async () => {
    expect(await call('search_web', { query: 'cats' }, context)).toMatchObject({ results: ['cats 5'] });
    expect(await call('search_web', { query: 'cats', limit: 2 }, context)).toMatchObject({ results: ['cats 2'] });
    expect(await call('everything', { ratio: 1, kind: 'a' }, context)).toEqual(expect.arrayContaining(['count', 'sure', 'ratio', 'kind']));
  });

  test('are given besides them stream_id, the ids of user and group, the platform, and the message that set off the turn', async () => {
    const said = { stream_id: 'conv-1', chat_id: 'conv-1', group_id: '', user_id: 'user-1', platform: 'longshore', message };
    expect(await call('search_web', { query: 'cats' }, context)).toMatchObject({ said });
  });

  test('have their own parameter message where they declare one', async () => {
    expect(await call('say', { message: 'mine' }, context)).toBe('mine');
  });

  test('fail a call with what they throw', async () => {
    expect(await problemOf(call('intrude', {}, context))).toBe('ctx.send: the stream "conv-other" is not the one of this call');
  });
});

describe('results', () => {
  const give = (value: unknown) => call('result', { value } as JsonObject);

  test('an object, a text and any other JSON value go to the model as they are', async () => {
    for (const value of [{ results: [1] }, { success: true, message: 'ok' }, 'plain', [1, 2], 7, true, null]) expect(await give(value)).toEqual(value);
    expect(await call('both')).toBeNull();
  });

  test('[ok, text] is a text that succeeded or failed', async () => {
    expect(await give([true, 'yes'])).toEqual(text('yes'));
    expect(await give([false, 'no'])).toEqual(text('no', true));
  });

  test('success: false is a failure with the text of error, or with all there is', async () => {
    expect(await give({ success: false, error: 'no such city' })).toEqual(text('no such city', true));
    expect(await give({ success: false, error: 'no', code: 7 })).toEqual(text('{"success":false,"error":"no","code":7}', true));
  });

  test('content_items are texts, images, files and links, after the content', async () => {
    const content_items = [
      { content_type: 'text', data: 'a chart' },
      { content_type: 'image', data: 'data:image/jpeg;base64,AAAA' },
      { content_type: 'audio', data: 'BBBB', mime_type: 'audio/ogg', uri: 'x/y.ogg' },
      { content_type: 'resource', data: 'CCCC', mime_type: 'application/pdf', name: 'a.pdf' },
      { content_type: 'binary', data: 'DDDD' },
      { content_type: 'resource_link', uri: 'https://a.example/b' },
    ];
    expect(await give({ success: true, content: 'See:', content_items })).toEqual({
      content: [
        { type: 'text', text: 'See:' },
        { type: 'text', text: 'a chart' },
        { type: 'image', mediaType: 'image/jpeg', data: 'AAAA' },
        { type: 'file', mediaType: 'audio/ogg', name: 'y.ogg', data: 'BBBB' },
        { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'CCCC' },
        { type: 'file', mediaType: 'application/octet-stream', name: 'item-5', data: 'DDDD' },
        { type: 'text', text: 'https://a.example/b' },
      ],
      isError: false,
    });
    expect(await problemOf(give({ content_items: [{ content_type: 'binary' }] }))).toBe('item 1 of its result has neither data nor uri');
  });
});

describe('stream_id', () => {
  test('may be declared as a parameter; the model is not shown it, and the host fills it in', async () => {
    expect(toolOf('greet')).toMatchObject({ description: 'Greet the user', parameters: { properties: {} } });
    expect(await call('greet')).toEqual({ success: true, message: 'Replied' });
  });

  test('ctx.send speaks to the conversation that it names', async () => {
    const context = contextOf('conv-1');
    await call('greet', {}, context);
    expect(context.told).toEqual([
      'send {"type":"text","text":"Hello!"}',
      'send {"type":"image","mediaType":"image/png","data":"iVBO"}',
      'send {"type":"file","mediaType":"text/plain","name":"a.txt","data":"YQ=="}',
      'warn greeted',
    ]);
  });

  test('two calls side by side in one conversation speak and log each for themselves', async () => {
    const source = `${header}
      class P extends MaiBotPlugin { id = 'aside'; ${hooks}
        @tool('say', { description: 'Says', parameters: { text: { type: 'string' }, ms: { type: 'number' } } })
        async say({ text, ms }) { await new Promise((go) => setTimeout(go, ms)); await this.ctx.send.text(text); this.ctx.logger.info(text); return text; } }
      export const createPlugin = () => new P();`;
    const aside = await bench.load('aside', source);
    const [slow, fast] = [contextOf('conv-1'), contextOf('conv-1')];
    await Promise.all([run(aside, 'say', { text: 'slow', ms: 60 }, slow), run(aside, 'say', { text: 'fast', ms: 1 }, fast)]);
    expect([slow.told, fast.told]).toEqual(['slow', 'fast'].map((said) => [`send {"type":"text","text":"${said}"}`, `info ${said}`]));
  });
});
