import type { SandboxOptions } from '../../src/contracts/agent.ts';

const revoked = Proxy.revocable({}, {});
revoked.revoke();
/** Values that no option is for, or only few. */
export const HOSTILE: Record<string, unknown> = {
  null: null,
  empty: '',
  NaN: Number.NaN,
  Infinity: Infinity,
  '-Infinity': -Infinity,
  '-1': -1,
  '-0.5': -0.5,
  '0': 0,
  '1.5': 1.5,
  '1e300': 1e300,
  '2**53': 2 ** 53,
  "'5'": '5',
  true: true,
  array: [],
  'array of null': [null],
  object: {},
  'object with __proto__': JSON.parse('{"__proto__":{"x":1}}'),
  'object without prototype': Object.assign(Object.create(null), { unheardOf: 1 }),
  function: () => undefined,
  symbol: Symbol('s'),
  bigint: 5n,
  NUL: 'a\0b',
  'lone surrogate': 'a\uD800',
  'huge text': 'x'.repeat(100 * 1024 * 1024),
  'getter that throws': Object.defineProperty({}, 'x', { enumerable: true, get: () => thrown() }),
  'proxy that throws': new Proxy({}, { get: thrown, ownKeys: thrown, getPrototypeOf: thrown }),
  'revoked proxy': revoked.proxy,
  date: new Date(0),
  map: new Map([[1, 2]]),
};
function thrown(): never {
  throw new TypeError('of the caller');
}

/** What a new sandbox is made of, all of it right. */
export const SANDBOX_SHAPE = {
  image: 'image:1',
  memoryMb: 100,
  cpus: 1,
  pids: 100,
  diskMb: 100,
  readOnlyRoot: true,
  runtime: 'runc' as const,
  egress: ['example.org'],
} satisfies Partial<SandboxOptions>;
