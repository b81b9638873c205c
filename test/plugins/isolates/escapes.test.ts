import { contextOf, openWorkbench, run, sourceOf, type Workbench } from './support.ts';
import type { Plugin } from '../../../src/plugins/api/define-plugin.ts';

/** Each piece of code gives what it got hold of; an escape is an object of the process, an effect on others, or anything but nothing. */
const ATTEMPTS: Record<string, string> = {
  'process by name': 'return typeof process !== "undefined" && process',
  'require by name': 'return typeof require !== "undefined" && require',
  'module by name': 'return (typeof module !== "undefined" && module) || (typeof exports !== "undefined" && exports)',
  'names of Node':
    'return [typeof Buffer, typeof global, typeof setImmediate, typeof __dirname, typeof structuredClone, typeof performance].find((t) => t !== "undefined")',
  'names of the platform':
    'return [typeof crypto, typeof ReadableStream, typeof Worker, typeof WebSocket, typeof navigator, typeof EventSource].find((t) => t !== "undefined")',
  'WebAssembly, SharedArrayBuffer and Atomics': 'return [typeof WebAssembly, typeof SharedArrayBuffer, typeof Atomics].find((t) => t !== "undefined")',
  'this of a sloppy function': 'return Function("return this")()?.process',
  'Function by name': 'return Function("return process")()',
  'Reflect.construct of Function': 'return Reflect.construct(Function, ["return process"])()',
  'constructor of a function': 'return (function () {}).constructor("return process")()',
  'constructor of an arrow function': 'return (() => 0).constructor("return process")()',
  'constructor of an async function': 'return (async () => 0).constructor("return process")()',
  'constructor of a generator': 'return (function* () {}).constructor("return process")().next().value',
  'constructor of an async generator': 'return (async function* () {}).constructor("return process")().next()',
  'constructor walk from an array': 'return [].constructor.constructor("return process")()',
  'constructor walk from a global': 'return URL.constructor("return process")()',
  'constructor walk from a timer': 'return setTimeout.constructor("return process")()',
  'constructor walk from the console': 'return console.log.constructor.constructor("return process")()',
  'constructor walk from a context': 'return context.store.get.constructor("return process")()',
  'constructor walk from the signal': 'return context.signal.constructor.constructor("return process")()',
  'constructor walk from the input': 'return input.constructor.constructor("return process")()',
  'constructor walk from an error of the platform': 'try { new URL("no") } catch (e) { return e.constructor.constructor("return process")() }',
  'constructor walk from a promise of the worker': 'return context.store.get("k").constructor.constructor("return process")()',
  'constructor walk from a refusal': 'try { await context.fetch("http://x/") } catch (e) { return e.constructor.constructor("return process")() }',
  'constructor walk from a stack overflow': 'const f = () => f(); try { f() } catch (e) { return e.constructor.constructor("return process")() }',
  'constructor walk from a decoded text': 'return new TextDecoder().decode(new TextEncoder().encode("x")).constructor.constructor("return process")()',
  'Error.prepareStackTrace':
    'Error.prepareStackTrace = (_, sites) => sites; const sites = new Error().stack; return Array.isArray(sites) && sites[0].getThis()',
  'Error.prepareStackTrace in a descriptor':
    'Object.defineProperty(Error, "prepareStackTrace", { value: (_, s) => s }); return typeof new Error().stack !== "string" && new Error().stack',
  'Error.captureStackTrace': 'const o = {}; Error.captureStackTrace?.(o); return /guest|isolates|node:/.test(String(o.stack)) && o.stack',
  'paths in a stack': 'return /\\/tmp|guest\\.cjs|node:internal/.test(String(new Error("x").stack)) && new Error("x").stack',
  'import expression in Function': 'return Function("return import(\'node:fs\')")()',
  'import expression in eval': 'return (0, eval)("import(\'node:fs\')")',
  'import with a comment in it': 'return Function("return import/**/(\'node:fs\')")()',
  'an HTML comment': 'return Function("x = 1 <!" + "-- process\\nreturn x")()',
  'pollution of Object.prototype': 'Object.prototype.polluted = 1; return ({}).polluted',
  'pollution by __proto__': '({}).__proto__.polluted = 1; return ({}).polluted',
  'pollution of Array.prototype': 'Array.prototype.push = () => 1; return [].push === Array.prototype.push && [].push(2, 3) === 1',
  'pollution of Promise.prototype': 'Promise.prototype.then = function () { return 1 }; return Promise.resolve().then() === 1',
  'pollution of JSON': 'JSON.stringify = () => "{}"; return JSON.stringify(1) === "{}"',
  'pollution of a context': 'context.store.get.__proto__.polluted = 1; return (() => 0).polluted',
  'pollution of a shared class': 'URL.prototype.polluted = 1; return new URL("http://x").polluted',
  'pollution of an iterator': 'Object.getPrototypeOf(new URLSearchParams().entries()).polluted = 1; return new URLSearchParams().entries().polluted',
  'pollution by Reflect.set': 'return Reflect.set(Map.prototype, "polluted", 1)',
  'pollution by setPrototypeOf': 'return Reflect.setPrototypeOf(Array.prototype, { polluted: 1 })',
  'arguments.callee.caller': 'return Function("return arguments.callee.caller")()',
  'caller of a function': 'function f() { return f.caller } return f()',
  'the inspect symbol':
    'const o = { [Symbol.for("nodejs.util.inspect.custom")]: (d, options, inspect) => { globalThis.got = inspect ?? options } }; console.log(o); return globalThis.got',
  'the global object of Node by a getter': 'return Object.getOwnPropertyNames(globalThis).map((n) => globalThis[n]).find((v) => v?.versions?.node)',
  'a timer object': 'const t = setTimeout(() => 0, 1); return typeof t === "object" && t',
  'a clock without permission': 'return Date.now()',
  'a clock in an event': 'const c = new AbortController(); let at; c.signal.addEventListener("abort", (e) => { at = e.timeStamp }); c.abort(); return at',
  'chance without permission': 'return Math.random()',
  'a thenable that is awaited': 'let got; await { then(resolve) { got = resolve.constructor; resolve() } }; return got("return process")()',
  'Symbol.species': 'class A extends Array { static get [Symbol.species]() { return Function } } return new A("return process").map((x) => x)()',
  'a proxy as an argument':
    'let seen; const p = new Proxy(function () {}, { apply: (_, self) => { seen = self }, get: (_, k) => (k === "then" ? undefined : p) }); await context.send(p).catch(() => 0); return seen !== p && seen',
  'a proxy as options':
    'let seen; await context.store.set("k", 1, new Proxy({}, { get(_, k, r) { seen = r === globalThis && r; return undefined }, ownKeys: () => [] })).catch(() => 0); return seen',
  'toJSON of an argument':
    'let seen; await context.store.set("k", { toJSON() { seen = this?.process ?? Function("return this")()?.process; return 1 } }); return seen',
  'Compartment of its own': 'return new Compartment({ globals: {}, __options__: true }).evaluate("typeof process !== \\"undefined\\" && process")',
  "the platform's DOMException": 'try { atob("\\u{1F600}") } catch (e) { return e.constructor !== Error && e.constructor }',
  'handles within a decoder': 'const d = new TextDecoder(); d.decode(new Uint8Array([1]), { stream: true }); return Reflect.ownKeys(d)[0]',
  'inspect of a URL':
    'return [URL, URLSearchParams, TextDecoder, TextEncoder].flatMap((c) => Object.getOwnPropertySymbols(c.prototype)).find((s) => s !== Symbol.toStringTag && s !== Symbol.iterator)',
  'lockdown again': 'return typeof lockdown === "function" && lockdown()?.process',
  'static state of RegExp': '"secret".match(/sec(ret)/); return RegExp.$1',
};

let bench: Workbench;
let plugin: Plugin;
beforeAll(async () => {
  bench = await openWorkbench({ unresponsiveMs: 5_000 });
  const attempt = `const got = await Function('context', 'input', 'return (async () => {' + input.code + '\\n})()')(context, input);
    return got === undefined || got === null || got === false ? 'nothing' : 'got ' + typeof got + ' ' + String(got);`;
  const names = 'return Object.getOwnPropertyNames(globalThis).sort()';
  const walk = `const seen = new Set(); const found = []; const own = new Set([globalThis, Function, eval, Compartment]);
    const look = (value, path) => {
      if (value === null || (typeof value !== 'object' && typeof value !== 'function') || seen.has(value) || own.has(value)) return;
      seen.add(value);
      if (Object.isExtensible(value) || !Object.isFrozen(value)) found.push(path);
      const descriptors = Object.getOwnPropertyDescriptors(value);
      for (const key of Reflect.ownKeys(descriptors)) { const d = descriptors[key]; for (const part of [d.value, d.get, d.set]) look(part, path + '.' + String(key)); }
      look(Object.getPrototypeOf(value), path + '.[[Prototype]]');
    };
    for (const name of Object.getOwnPropertyNames(globalThis).filter((own) => !own.startsWith('__zod'))) look(globalThis[name], name);
    look(new URLSearchParams().keys(), 'iterator');
    return found.filter((path) => !path.startsWith('iterator') || path.includes('[[Prototype]]'));`;
  plugin = await bench.load('escapes', `// @ts-nocheck\n${sourceOf('escapes', { attempt, names, walk })}`);
});
afterAll(() => bench[Symbol.asyncDispose]());

test('no attempt to get out of a compartment gets anything', async () => {
  const outcomes: Record<string, unknown> = {};
  for (const [name, code] of Object.entries(ATTEMPTS)) {
    outcomes[name] = await run(plugin, 'attempt', { code }).then(
      (outcome) => outcome,
      () => 'nothing',
    );
  }
  expect(outcomes).toEqual(Object.fromEntries(Object.keys(ATTEMPTS).map((name) => [name, 'nothing'])));
  expect(Object.keys(ATTEMPTS).length).toBeGreaterThan(50);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('the safe names are there, and what conversations share is frozen to the last object', async () => {
  const FETCH = ['Headers', 'Request', 'Response', 'FormData', 'Blob', 'File'];
  const safe = ['console', 'URL', 'URLSearchParams', 'TextEncoder', 'TextDecoder', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'];
  expect(await run(plugin, 'names')).toEqual(expect.arrayContaining([...safe, 'atob', 'btoa', 'queueMicrotask', 'AbortController', 'AbortSignal', ...FETCH]));
  expect(await run(plugin, 'walk')).toEqual([]);
});

test('a result with a key named __proto__ changes no prototype', async () => {
  const value = (await run(plugin, 'attempt', { code: 'throw 1' }).catch(() => ({}))) as object;
  expect(Object.getPrototypeOf(Object.assign({}, value))).toBe(Object.prototype);
  const made = await bench.load(
    'proto',
    sourceOf('proto', { make: `return JSON.parse('{"__proto__": {"polluted": 1}, "a": [{"__proto__": {"polluted": 2}}]}')` }),
  );
  const copy = Object.assign({}, await run(made, 'make', {}, contextOf('conv-1'))) as Record<string, unknown>;
  expect([copy, copy['polluted']]).toEqual([{ a: [{}] }, undefined]);
});
