import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { PROTOCOL, type ProtocolField, type Fields, type OperationFields } from '../../../src/sandbox/protocol/protocol.ts';
import type { EndOf, Operation, RecordOf } from '../../../src/sandbox/protocol/protocol-types.ts';
import { findProblem } from '../../../src/sandbox/protocol/validate-messages.ts';

const SUPERVISOR = fileURLToPath(new URL('../../../src/sandbox/supervisor', import.meta.url));
const OPERATIONS: Record<string, OperationFields> = PROTOCOL.operations;
const RECORDS: Record<string, Fields> = PROTOCOL.records;

test('protocol.json is what the supervisor is to read (write it with: npx tsx scripts/generate-schemas.ts)', () => {
  expect(JSON.parse(readFileSync(`${SUPERVISOR}/protocol.json`, 'utf8'))).toEqual(PROTOCOL);
});

test('types are those of the description', () => {
  const failed: RecordOf<'exit'> = { status: 'failed', problem: 'x', durationMs: 0, stdoutBytes: 0, stderrBytes: 0, stdoutKept: 0, stderrKept: 0 };
  const end: EndOf<'fileInfo'> = {};
  // @ts-expect-error a status that the protocol does not have
  const status: RecordOf<'exit'>['status'] = 'gone';
  // @ts-expect-error a field that is missing
  const hello: EndOf<'hello'> = { version: 1, supervisorId: 'a' };
  expect([failed.status, end.info, status, hello.version]).toEqual(['failed', undefined, 'gone', 1]);
});

function spread(fields: Fields): Record<string, ProtocolField> {
  return Object.assign(
    {},
    ...Object.entries(fields).map(([name, field]) =>
      'type' in field ? { [name]: field } : Object.assign({}, ...field.map((record) => spread(RECORDS[record]!))),
    ),
  ) as Record<string, ProtocolField>;
}

const odd = fc.constantFrom<unknown>(
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  '',
  'a',
  'a\0',
  '\uD800',
  '\uDC80',
  '../a',
  'a\n',
  '😀',
  [],
  ['a'],
  [1],
  {},
  { A: 'b' },
  { 'A=': '' },
);
const around = (edge: number) => fc.integer({ min: Math.max(0, edge - 1), max: edge + 1 });
const repeated = (units: string[], edge: number) => fc.tuple(fc.constantFrom(...units), around(edge)).map(([unit, times]) => unit.repeat(times));

/** Values that fit, values at the edge of what fits, and values that do not. */
function valueOf({ type, min = 0, max = 2 ** 53 - 1, maxLength = 0, maxItems = 0, values = [] }: ProtocolField): fc.Arbitrary<unknown> {
  const text = fc.oneof(fc.string({ maxLength: 8, unit: 'binary' }), repeated(['a', 'é', '😀', '\uDC80'], Math.min(maxLength, 5000)));
  const fitting: Record<string, fc.Arbitrary<unknown>> = {
    id: fc.oneof(
      fc.string({ maxLength: 10, unit: fc.constantFrom('a', 'Z', '0', '9', '_', '.', ':', '-', '/', ' ', 'é') }),
      repeated(['a'], PROTOCOL.id.maxLength),
    ),
    text,
    integer: fc.oneof(fc.integer({ min: min - 1, max: min + 1 }), fc.constantFrom(max - 1, max, max + 1)),
    boolean: fc.boolean(),
    choice: fc.constantFrom(...values, 'other'),
    texts: fc.oneof(
      fc.array(text, { maxLength: 3 }),
      around(maxItems).map((length) => Array.from({ length }, () => 'a')),
    ),
    textMap: fc.oneof(
      fc.dictionary(fc.string({ maxLength: 4, unit: fc.constantFrom('A', 'B', '=', '\0') }), text, { maxKeys: 3, noNullPrototype: true }),
      around(maxItems).map((length) => Object.fromEntries(Array.from({ length }, (_, index) => [`A${index}`, '']))),
    ),
  };
  return fc.oneof({ weight: 12, arbitrary: fitting[type]! }, { weight: 1, arbitrary: odd });
}

function requestOf(operation: string): fc.Arbitrary<JsonObject> {
  const table = spread(OPERATIONS[operation]!.request);
  const fields = Object.fromEntries(Object.entries(table).map(([name, field]) => [name, valueOf(field)]));
  const optional = Object.entries(table).flatMap(([name, field]) => (field.optional === true ? [name] : []));
  const complete = fc.record(fields, { requiredKeys: Object.keys(table).filter((name) => !optional.includes(name)), noNullPrototype: true });
  const anything = fc.record({ ...fields, more: odd }, { requiredKeys: [], noNullPrototype: true });
  return fc.oneof({ weight: 5, arbitrary: complete }, { weight: 1, arbitrary: anything }) as fc.Arbitrary<JsonObject>;
}

const CHECKER = `
import sys
sys.path.insert(0, sys.argv[1])
from shared.protocol import Refused, parse_request
for line in sys.stdin.buffer:
    try:
        parse_request(line)
        print('taken')
    except Refused:
        print('refused')
`;

test('worker and supervisor take and refuse the same requests, of every operation', () => {
  const requests = (Object.keys(OPERATIONS) as Operation[]).flatMap((operation) =>
    fc.sample(requestOf(operation), 150).map((fields) => ({ operation, fields, problem: findProblem(operation, 'request', fields) })),
  );
  const input = requests.map(({ operation, fields }) => `${JSON.stringify({ ...fields, operation })}\n`).join('');
  const verdicts = execFileSync('python3', ['-I', '-S', '-B', '-c', CHECKER, SUPERVISOR], { input, encoding: 'utf8', maxBuffer: 2 ** 27 })
    .trim()
    .split('\n');
  const taken = requests.map(({ problem }) => (problem === undefined ? 'taken' : 'refused'));
  const differing = requests.filter((_request, index) => verdicts[index] !== taken[index]);
  expect(differing.slice(0, 3).map((request) => JSON.stringify(request).slice(0, 500))).toEqual([]);
  for (const verdict of ['taken', 'refused']) expect(verdicts.filter((each) => each === verdict).length).toBeGreaterThan(300);
});

test('the supervisor has each operation, and sends no code and no status but those that are described', () => {
  const names = readdirSync(SUPERVISOR, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.py') && !name.startsWith('guest/'));
  const sources = new Map(names.map((name) => [name, readFileSync(`${SUPERVISOR}/${name}`, 'utf8')]));
  // What these refuse is answered to code of the guest, in a protocol of its own.
  for (const name of ['root/methods.py', 'root/guest_calls.py']) sources.delete(name);
  const all = [...sources.values()].join('\n');
  const found = (pattern: RegExp) => [...new Set([...all.matchAll(pattern)].map(([, name]) => name!))].toSorted();
  const tables = ['root/service.py', 'as_guest/file_operations.py', 'as_guest/checkpoints/operations.py']
    .map((name) => sources.get(name))
    .map((text) => /(?:^|_)operations(?:: [^=\n]*)? = \{(.*?)^ *\}/ims.exec(text ?? '')![1])
    .join('\n');
  expect([...tables.matchAll(/^ +'([\w.]+)':/gm)].map(([, name]) => name ?? '').toSorted()).toEqual(Object.keys(OPERATIONS).toSorted());
  const { code } = PROTOCOL.records.failure;
  expect(found(/\b(?:Refused|fail)\(\s*'([A-Z_]+)'/g).filter((name) => !(code.values as readonly string[]).includes(name))).toEqual([]);
  const { status } = PROTOCOL.records.exit;
  expect(found(/(?:'status': |_reason = |reason or )'([a-z]+)'/g)).toEqual([...status.values].toSorted());
});
