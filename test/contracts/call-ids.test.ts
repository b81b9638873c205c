import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { callOfCode, callOfStep, depthOfCall, execOf, freeExec, isDirectExecOf, isExecOf, isUnderExec } from '../../src/contracts/call-ids.ts';

const STEP = 'step_0123456789abcdefghjkmn';
const CALL = 'call_0123456789abcdefghjkmn00';

test('ids have the form that rows, journals and recorded histories have', () => {
  expect(callOfStep(STEP, 0)).toBe(CALL);
  expect(callOfStep(STEP, 123)).toBe('call_0123456789abcdefghjkmn123');
  expect(execOf(CALL, 2)).toBe(`${CALL}-2`);
  expect(execOf(execOf(CALL, 2), 3)).toBe(`${CALL}-2-3`);
  expect(callOfCode(execOf(CALL, 1), 12)).toBe(`${CALL}-1m12`);
  expect(freeExec()).toMatch(/^call_[0-9a-z]{22}$/);
});

const number = fc.integer({ min: 1, max: 1000 });
/** A call with its depth, by the ways in which calls come about. */
const calls = fc.tuple(fc.integer({ min: 0, max: 200 }), fc.array(fc.tuple(number, fc.option(number), number), { maxLength: 4 })).map(([position, levels]) => ({
  depth: levels.length,
  callId: levels.reduce(
    (callId, [command, asked, n]) => {
      const exec = execOf(callId, command);
      return callOfCode(asked === null ? exec : execOf(exec, asked), n);
    },
    callOfStep(STEP, position),
  ),
}));

test('a call knows its depth and its own commands, and not those of calls that its code made, nor of calls whose id begins like its own', () => {
  fc.assert(
    fc.property(calls, number, number, fc.integer({ min: 0, max: 9 }), ({ callId, depth }, first, second, digit) => {
      expect(depthOfCall(callId)).toBe(depth);
      const direct = execOf(callId, first);
      const asked = execOf(direct, second);
      const inner = callOfCode(direct, second);
      expect([direct, asked, inner, execOf(inner, 1), execOf(`${callId}${digit}`, 1), callId].map((id) => isExecOf(callId, id))).toEqual([
        true,
        true,
        false,
        false,
        false,
        false,
      ]);
      expect([direct, asked, execOf(inner, 1)].map((id) => isDirectExecOf(callId, id))).toEqual([true, false, false]);
      expect([asked, execOf(callOfCode(asked, 1), 1), direct, execOf(`${direct}${digit}`, 1)].map((id) => isUnderExec(direct, id))).toEqual([
        true,
        true,
        false,
        false,
      ]);
    }),
  );
});

/** A name of such an id, taken apart or joined to something. */
const TAKEN_APART = /(?:\b(?:call|exec)Id|toolId)\)?\??\.(?:slice|split|startsWith|endsWith|replace|replaceAll|match|indexOf|substring|includes)\(/;
const JOINED = /`\$\{[^}]*(?:[cC]all|[eE]xec|tool)Id\}[-m]|makeId\('call'|'call_'|\^step_/;
const PYTHON = /exec_?id(?:\.(?:split|startswith|endswith|replace|partition|rpartition)\(| *\+ *'|\[\d*:)/i;
const ALLOWED = [
  // The grammar itself.
  'contracts/call-ids.ts',
  // Names of MCP servers, whose execs belong to no call.
  'sandbox/handle/code/server-names.ts',
  // Cuts the text of a client, which may send anything.
  'workflows/register-handlers.ts',
];

test('nothing else takes such an id apart or joins one', () => {
  const src = fileURLToPath(new URL('../../src/', import.meta.url));
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(?:ts|py|cjs)$/.test(name) && !ALLOWED.includes(name));
  const found = files.flatMap((name) =>
    readFileSync(join(src, name), 'utf8')
      .split('\n')
      .filter((line) => (name.endsWith('.py') ? PYTHON.test(line) : TAKEN_APART.test(line) || JOINED.test(line)))
      .map((line) => `${name}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
