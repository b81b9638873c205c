// oxlint-disable-next-line import/no-unassigned-import -- it has to be done before anything else is evaluated
import '../../../src/plugins/isolates/guest/lockdown.ts';
import { types } from 'node:util';
import { createCompartments, type Realm } from '../../../src/plugins/isolates/guest/compartments.ts';
import { createCallContext, fetchThrough } from '../../../src/plugins/isolates/guest/call-context.ts';
import { GuestAbortController } from '../../../src/plugins/isolates/guest/web/abort.ts';
import type { Json } from '../../../src/contracts/json.ts';

/**
 * A program that walks everything that code in two compartments of one process can reach, and prints what of it both reach and one could change. It calls
 * each function that a compartment is given, with arguments that provoke errors, and walks what comes back and what is thrown.
 */

const EXPLORE = `
  const seen = new Map();
  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
  const queue = [];
  const look = (value, path) => {
    if (!isObject(value) || seen.has(value)) return;
    seen.set(value, path);
    queue.push(value);
  };
  const attempt = (work, path) => {
    try {
      const value = work();
      look(value, path);
      // Both what a promise becomes and what it fails with.
      if (value instanceof Promise) waiting.push(value.then((given) => look(given, path + '→'), (error) => look(error, path + '✗')));
    } catch (error) {
      look(error, path + '!');
    }
  };
  const waiting = [];
  const ARGUMENTS = () => [
    [], [undefined], [null], [1], [-1], ['x'], ['\\u{1F600}'], ['http://a.example/?q=1#h'], ['utf-16le'], ['nonsense'], [{}], [[]], [[1]], [() => 1], [Symbol.iterator], [1n],
    [new Uint8Array([255, 1])], [new ArrayBuffer(4)], [new Proxy({}, {})], [{ get then() { throw new Error('own') } }], ['a', 'b'], ['a', new Blob(['b'])], [[['a', 'b']]],
    ['http://a.example', { method: 'POST', body: 'x' }], [{ toString() { throw new TypeError('own') } }], [Symbol('s'), Symbol('t')], [() => { throw new RangeError('own') }, 0],
    ['x'.repeat(100), -5, null, {}], ['x', Object.create(Uint8Array.prototype)], [Object.create(Uint8Array.prototype)], [Object.create(ArrayBuffer.prototype)],
    ...[Object.defineProperty(new Uint8Array(2), 'buffer', { value: {} }), Object.defineProperty(new Uint8Array(2), 'byteLength', { value: -1 })].flatMap((bytes) => [
      [bytes], ['x', bytes], ['x', { stdin: bytes }], [{ bytes }], ['http://a.example', { method: 'PUT', body: bytes }], [[bytes], { type: 'x' }],
    ]),
  ];
  const SKIPPED = new Set(['Function', 'eval', 'Compartment', 'lockdown', 'harden']);
  const STOP = new Set(['toString', 'propertyIsEnumerable']);
  const walk = () => {
    while (queue.length > 0) {
      const value = queue.shift();
      const path = seen.get(value);
      let keys = [];
      try { keys = Reflect.ownKeys(value); look(Object.getPrototypeOf(value), path + '.__proto__'); } catch { continue; }
      for (const key of keys) {
        const at = path + '.' + String(key);
        let descriptor;
        try { descriptor = Object.getOwnPropertyDescriptor(value, key); } catch { continue; }
        if (!descriptor) continue;
        if ('value' in descriptor) look(descriptor.value, at);
        look(descriptor.get, at + ' get');
        look(descriptor.set, at + ' set');
        if (descriptor.get) attempt(() => Reflect.get(value, key, value), at + '()');
      }
    }
  };
  const callAll = (name, value, self) => {
    for (const args of ARGUMENTS()) {
      attempt(() => Reflect.apply(value, self, args), name + '(…)');
      if (!/^(?:[a-z]|get |set )/.test(value.name ?? '')) attempt(() => Reflect.construct(value, args), 'new ' + name + '(…)');
    }
  };
  const methodsOf = (object) => {
    const found = new Map();
    for (let at = object; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      for (const key of Reflect.ownKeys(at)) {
        const descriptor = Object.getOwnPropertyDescriptor(at, key);
        for (const part of [descriptor.value, descriptor.get, descriptor.set]) if (typeof part === 'function' && key !== 'constructor') found.set(part, key);
      }
    }
    return found;
  };
  const explore = async (context) => {
    const names = Object.getOwnPropertyNames(globalThis).filter((name) => !SKIPPED.has(name) && !LANGUAGE.includes(name));
    for (const name of Object.getOwnPropertyNames(globalThis)) look(globalThis[name], name);
    look(context, 'context');
    const instances = [
      ['url', new URL('http://a.example/?q=1')], ['params', new URLSearchParams('a=b')], ['encoder', new TextEncoder()], ['decoder', new TextDecoder()],
      ['fatal', new TextDecoder('utf-8', { fatal: true })], ['controller', new AbortController()], ['signal', AbortSignal.abort()], ['any', AbortSignal.any([AbortSignal.abort()])],
      ['timeout', AbortSignal.timeout(1)], ['headers', new Headers({ a: 'b' })], ['request', new Request('http://a.example', { method: 'POST', body: 'x' })],
      ['response', new Response('x')], ['form', new FormData()], ['blob', new Blob(['x'])], ['file', new File(['x'], 'n')], ['fetched', await fetch('http://a.example')],
      ['format', new Intl.DateTimeFormat('en')], ['generator', (async function* () { yield 1 })()], ['iterator', new Headers({ a: 'b' }).entries()],
      ['async function', async () => 1], ['generator function', function* () { yield 1; }], ['async generator function', async function* () { yield 1; }],
      ['sync generator', (function* () { yield 1; })()], ['array iterator', [1][Symbol.iterator]()], ['map iterator', new Map([[1, 2]]).entries()], ['set iterator', new Set([1]).values()],
      ['string iterator', 'a'[Symbol.iterator]()], ['matches', 'a'.matchAll(/a/g)], ['params iterator', new URLSearchParams('a=b')[Symbol.iterator]()],
      ['params keys', new URLSearchParams('a=b').keys()], ['form iterator', new FormData().entries()], ['headers iterator', new Headers({ a: 'b' })[Symbol.iterator]()],
      ['bytes', new Uint8Array(2)], ['promise', Promise.resolve(1)], ['weak map', new WeakMap()], ['revocable', Proxy.revocable({}, {})],
      ['template', ((strings) => strings)\`a\`], ['bound', (() => 1).bind(null)], ['error', new AggregateError([new TypeError('a')], 'b', { cause: new Error('c') })],
    ];
    for (const name of Object.getOwnPropertyNames(Intl)) if (typeof Intl[name] === 'function') attempt(() => { instances.push(['Intl.' + name, new Intl[name]('en')]); }, 'Intl.' + name);
    for (const name of names) if (typeof globalThis[name] === 'function') callAll(name, globalThis[name], undefined);
    for (const [name, method] of Object.entries(console)) callAll('console.' + name, method, console);
    for (const name of names) if (typeof globalThis[name] === 'function') for (const [part, key] of methodsOf(globalThis[name])) callAll(name + '.' + String(key), part, globalThis[name]);
    const parts = [['context', context], ...Object.entries(context).filter(([, part]) => isObject(part)).map(([key, part]) => ['context.' + key, part])];
    for (const [name, instance] of [...instances, ...parts]) {
      look(instance, name);
      for (const [part, key] of methodsOf(instance)) callAll(name + '.' + String(key), part, instance);
      for (const [part, key] of methodsOf(instance)) callAll(name + '.' + String(key) + ' of another', part, {});
    }
    const deep = () => deep();
    attempt(deep, 'stack overflow');
    for (const text of ['{', '[1', '']) attempt(() => JSON.parse(text), 'JSON.parse');
    attempt(() => new RegExp('('), 'RegExp');
    attempt(() => Function('im' + 'port("x")'), 'Function import');
    attempt(() => Reflect.construct(Function, ['<!' + '-- x']), 'Function comment');
    for (let round = 0; round < 4; round += 1) {
      walk();
      // Some never settle.
      await Promise.race([Promise.all(waiting.splice(0)), new Promise((done) => setTimeout(done, 500))]);
    }
    walk();
    return seen;
  };
`;
const LANGUAGE = Object.getOwnPropertyNames(globalThis).filter(
  (name) => /^[A-Z]/.test(name) && name in new Compartment({ globals: {}, __options__: true }).globalThis,
);
const CODE = `(() => { const LANGUAGE = ${JSON.stringify(LANGUAGE)}; ${EXPLORE} return { default: { id: 'p', tools: [], explore } }; })()`;

const answer = { status: 200, statusText: 'OK', url: 'http://a.example/', redirected: false, headers: [['set-cookie', 'a=b']], body: 'eA==' };
const ask = (what: string): Promise<Json> =>
  what === 'fetch' || what === 'files.get' ? Promise.resolve((what === 'fetch' ? answer : 'eA==') as Json) : Promise.reject(new Error(`${what} is refused`));
const outside = {
  fetch: (url: unknown, init?: unknown) => fetchThrough(ask, url, init),
  readFile: () => Promise.reject(new Error('refused')),
  log: () => {},
};

function isMutable(value: object): boolean {
  if (!Object.isFrozen(value)) return true;
  const { isMap, isSet, isWeakMap, isWeakSet, isDate, isArrayBufferView, isAnyArrayBuffer, isGeneratorObject, isProxy } = types;
  return [isMap, isSet, isWeakMap, isWeakSet, isDate, isArrayBufferView, isAnyArrayBuffer, isGeneratorObject, isProxy].some((is) => is(value));
}

async function reach(realm: Realm): Promise<Map<object, string>> {
  const facts = { conversationId: 'c', userId: 'u', tenantId: 't', agentId: 'a', turnId: 't', callId: 'c', env: { A: 'b' }, config: { deep: {} } };
  const context = createCallContext(facts, new GuestAbortController().signal, { ask, tell: () => {} });
  return (realm.plugin['explore'] as (context: object) => Promise<Map<object, string>>)(context);
}

process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});
const grants = { time: true, random: true, network: true, files: true };
const { realmFor } = createCompartments(CODE, { outsideOf: () => outside, attach: () => {}, load: () => Promise.resolve() });
const one = await reach(realmFor('conv-1', grants));
const other = await reach(realmFor('conv-2', grants));
const both = [...one].filter(([value]) => other.has(value));
const mutable = both.filter(([value]) => isMutable(value)).map(([, path]) => path);
process.stdout.write(JSON.stringify({ reached: [one.size, other.size], both: both.length, mutable }), () => process.exit());
