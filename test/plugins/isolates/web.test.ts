import { contextOf, openWorkbench, problemOf, run, sourceOf, type Workbench } from './support.ts';
import type { Plugin } from '../../../src/plugins/api/define-plugin.ts';

let bench: Workbench;
let plugin: Plugin;
beforeAll(async () => {
  bench = await openWorkbench();
  const evaluate = `return await Function('context', 'input', 'return (async () => {' + input.code + '\\n})()')(context, input);`;
  const top = 'let kept: any;';
  const forge = `await context.store.get('k');
    const own = Promise.resolve().then(() => 0);
    const store = Reflect.ownKeys(own).find((key) => /Resource|store/i.test(String(key)));
    const derived: any = own.then(() => fetch('http://a.example/'));
    if (store) derived[store] = { call: input.call, context: {} };
    return derived.then((answer: any) => answer.text(), (error: Error) => error.message);`;
  const hang = `return new Promise((done) => context.signal.addEventListener('abort', () => done(1)));`;
  plugin = await bench.load('web', `// @ts-nocheck\n${sourceOf('web', { evaluate, forge, hang }, { permissions: { network: ['a.example'] }, top })}`);
});
afterAll(() => bench[Symbol.asyncDispose]());

const sent: unknown[] = [];
const context = contextOf('conv-1', {
  fetch: async (url, init = {}) => {
    const { method, headers, body, redirect } = init as { method?: string; headers?: [string, string][]; body?: Buffer; redirect?: string };
    sent.push([url, method, Object.fromEntries(headers ?? []), body?.toString(), redirect]);
    return new Response('{"ok":true}', {
      headers: [
        ['content-type', 'application/json'],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ],
    });
  },
});
const evaluate = (code: string) => run(plugin, 'evaluate', { code }, context);

test('code in a compartment has the classes of fetch', async () => {
  const cases: [code: string, value: unknown][] = [
    [
      `const h = new Headers({ 'X-A': ' b ' }); h.append('x-a', 'c'); h.set('d', 1); return [h.get('X-a'), [...h], h.has('D')]`,
      [
        'b, c',
        [
          ['d', '1'],
          ['x-a', 'b, c'],
        ],
        true,
      ],
    ],
    [`return [...new Headers([['a', '1'], ['set-cookie', 'x'], ['set-cookie', 'y']])].length + new Headers(new Headers({ a: 'b' })).get('a')`, '3b'],
    [`return await new Response('äö').text() + await new Response(new Blob(['x', new Uint8Array([121])])).text()`, 'äöxy'],
    [
      `const r = Response.json({ a: 1 }, { status: 201 }); return [r.status, r.ok, r.headers.get('content-type'), await r.clone().json(), r.bodyUsed]`,
      [201, true, 'application/json', { a: 1 }, false],
    ],
    [
      `const b = new Blob(['abc'], { type: 'Text/Plain' }); return [b.size, b.type, await b.slice(1, 2).text(), b instanceof Blob]`,
      [3, 'text/plain', 'b', true],
    ],
    [
      `const f = new FormData(); f.append('a', 1); f.append('a', 2); f.set('b', new Blob(['x']), 'n.txt'); return [f.getAll('a'), f.get('b').name, [...f.keys()]]`,
      [['1', '2'], 'n.txt', ['a', 'a', 'b']],
    ],
    [
      `const r = new Request('http://a.example/x', { method: 'post', body: new URLSearchParams({ q: 'a b' }) }); return [r.method, r.url, r.headers.get('content-type'), await r.clone().text(), (await r.formData()).get('q')]`,
      ['POST', 'http://a.example/x', 'application/x-www-form-urlencoded;charset=UTF-8', 'q=a+b', 'a b'],
    ],
    [
      `const u = new URL('../c?d=1#e', 'http://a.example/b/'); u.searchParams.append('f', 'g'); u.hash = ''; return [u.href, String(u), JSON.stringify(u), u.pathname, URL.canParse('no'), u.searchParams.has('f', 'h')]`,
      ['http://a.example/c?d=1&f=g', 'http://a.example/c?d=1&f=g', '"http://a.example/c?d=1&f=g"', '/c', false, false],
    ],
    [
      `const s = AbortSignal.timeout(1); await new Promise((done) => s.addEventListener('abort', done)); return [s.aborted, s.reason.name]`,
      [true, 'TimeoutError'],
    ],
    [
      `const c = new AbortController(); const s = AbortSignal.any([c.signal, AbortSignal.timeout(60000)]); c.abort('why'); return [s.aborted, s.reason]`,
      [true, 'why'],
    ],
    [
      `const d = new TextDecoder(); return d.decode(new Uint8Array([0xc3]), { stream: true }) + d.decode(new Uint8Array([0xa4])) + new TextDecoder('latin1').decode(new TextEncoder().encode('a'))`,
      'äa',
    ],
    [`const h = new Headers({ a: 'b' }); try { h.set('a', '\\n.\\n.') } catch {} return h.get('a')`, 'b'],
    [`return new URLSearchParams([['a', undefined], new Set(['b', 'c'])]).toString()`, 'a=undefined&b=c'],
    [
      `const r = new Request('http://a.example'); const c = new AbortController(); const of = new Request(r, { signal: c.signal }); c.abort(); return [r.signal.aborted, of.signal.aborted, new Request(of, { signal: null }).signal.aborted]`,
      [false, true, false],
    ],
    [
      `const c = new AbortController(); const d = new AbortController(); const seen = []; const last = () => seen.push('last');
       c.signal.addEventListener('abort', (event) => { seen.push(event.currentTarget === c.signal); c.signal.removeEventListener('abort', last); throw new Error('no'); });
       c.signal.addEventListener('abort', () => seen.push('ended'), { signal: d.signal });
       c.signal.addEventListener('abort', last); c.signal.addEventListener('abort', { handleEvent: () => seen.push('object') }, null);
       d.abort(); c.abort(); return seen`,
      [true, 'object'],
    ],
    [`class Mine extends Headers { get(name) { return 'my ' + super.get(name) } } return new Mine({ a: 'b' }).get('a')`, 'my b'],
  ];
  for (const [code, value] of cases) expect([code, await evaluate(code)]).toEqual([code, value]);
  for (const [code, problem] of [
    [`new Headers({ 'a b': 'c' })`, '"a b" is no name of a header'],
    [`new Headers([['a']])`, 'Each pair has to have a name and a value'],
    [`new Headers([['a', 'b', 'c']])`, 'Each pair has to have a name and a value'],
    [`new URLSearchParams([['a']])`, 'Each pair has to have a name and a value'],
    [`new Request('http://a.example/', { signal: {} })`, 'The signal of a request has to be an AbortSignal'],
    [`new Headers({ a: 'b\\n' + 'c' })`, 'is no value of a header'],
    [`new Request('http://a.example', { body: 'x' })`, 'A request with the method GET or HEAD cannot have a body'],
    [`new URL('no')`, 'Invalid URL: no'],
    [`AbortSignal.timeout(-1)`, 'The time -1 is not between 0 and 2147483647 ms'],
    [`new Response('x', { status: 99 })`, 'The status 99 is not between 200 and 599'],
    [`atob('%')`, 'characters that base 64 does not have'],
  ]) {
    expect(await problemOf(evaluate(code!))).toContain(problem);
  }
});

test('requests go out with all kinds of bodies', async () => {
  const code = `const form = new FormData(); form.append('field', 'v'); form.append('file', new Blob(['------longshore-form-boundary-00000000'], { type: 'text/plain' }), 'a"b.txt');
    await fetch(new Request('http://a.example/form', { method: 'POST', body: form, headers: { 'x-a': '1' } }));
    await context.fetch(new URL('http://a.example/json'), { method: 'PUT', headers: new Headers({ 'content-type': 'application/json' }), body: '{}', redirect: 'manual' });
    const answer = await fetch('http://a.example/');
    return [answer instanceof Response, answer.headers.getSetCookie(), await answer.json()]`;
  expect(await evaluate(code)).toEqual([true, ['a=1', 'b=2'], { ok: true }]);
  const boundary = '----longshore-form-boundary-00000001';
  const body = [
    `--${boundary}\r\nContent-Disposition: form-data; name="field"\r\n\r\nv\r\n`,
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a%22b.txt"\r\nContent-Type: text/plain\r\n\r\n------longshore-form-boundary-00000000\r\n`,
    `--${boundary}--\r\n`,
  ];
  expect(sent).toEqual([
    ['http://a.example/form', 'POST', { 'x-a': '1', 'content-type': `multipart/form-data; boundary=${boundary}` }, body.join(''), 'follow'],
    ['http://a.example/json', 'PUT', { 'content-type': 'application/json' }, '{}', 'manual'],
    ['http://a.example/', 'GET', {}, undefined, 'follow'],
  ]);
});

test('a request leaves no listener at its signal, which may be used for many', async () => {
  const code = `let listeners = 0;
    const signal = { aborted: false, addEventListener() { listeners += 1 }, removeEventListener() { listeners -= 1 } };
    await fetch('http://a.example/', { signal });
    return listeners`;
  expect(await evaluate(code)).toBe(0);
});

test('a call cannot speak in the name of a call of another conversation', async () => {
  const other = contextOf('conv-2', { fetch: async () => new Response('answer for the other') });
  const hanging = run(plugin, 'hang', {}, other);
  const own = contextOf('conv-1', { fetch: async () => new Response('own answer') });
  const answers = new Set<unknown>();
  for (let call = 0; call < 60; call += 1) answers.add(await run(plugin, 'forge', { call }, own));
  expect([...answers]).toEqual(['own answer']);
  other.abort(new Error('enough'));
  await hanging.catch(() => undefined);
});
