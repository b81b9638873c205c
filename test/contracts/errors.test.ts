import { readFile } from 'node:fs/promises';
import { ERRORS } from '../../src/contracts/error-table/error-rows.ts';
import { failure, isFailure, LongshoreError, type ErrorCode } from '../../src/contracts/errors.ts';
import { errorTable } from '../../scripts/derived/error-table.ts';

const codes = Object.keys(ERRORS) as ErrorCode[];

test('docs/errors.md has exactly the rows of the error table (correct it with: npx tsx scripts/generate-schemas.ts)', async () => {
  const text = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8');
  const rows = text.split('\n').filter((line) => line.startsWith('|'));
  expect(rows.map(cellsOf)).toEqual(errorTable().map(cellsOf));
});

function cellsOf(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replace(/^-+$/, '---'));
}

test.each(codes)('%s has a status of its own kind and a message for people', (code) => {
  const { message, httpStatus } = ERRORS[code];
  expect(httpStatus).toBeGreaterThanOrEqual(400);
  expect(httpStatus).toBeLessThan(600);
  expect(message.length).toBeGreaterThan(10);
});

test('an error says its values in its message and keeps them', () => {
  const error = failure('FILE_NOT_FOUND', { path: '/a' }, new Error('ENOENT'));
  expect(error).toMatchObject({
    name: 'LongshoreError',
    code: 'FILE_NOT_FOUND',
    values: { path: '/a' },
    message: 'No such file or directory: /a. Check the path, and list the directory above it to see what is there.',
    retryable: false,
  });
  expect(error.cause).toMatchObject({ message: 'ENOENT' });
});

test('what comes after a value that ends a sentence is a sentence of its own', () => {
  expect(failure('SANDBOX_LOST', { sandboxId: 's', problem: 'It broke.' }).message).toBe(
    'The container of sandbox "s" is gone: It broke. Open the sandbox again to go on.',
  );
});

const ODD = /\b(?:mend|nobody|somebody|someone|whoever|let go|looks? after|for nothing)\b/i;

test.each(codes)('%s is told in plain terms', (code) => {
  expect(ERRORS[code].message).not.toMatch(ODD);
});

test('a value that looks like a placeholder stays as it is', () => {
  expect(failure('FILE_FAILED', { path: '{problem}', problem: 'x' }).message).toBe('{problem}: x');
});

test('an error is known by name and code, from any copy of the module', () => {
  const foreign = Object.assign(new Error('No such file'), { name: 'LongshoreError', code: 'FILE_NOT_FOUND' });
  expect(isFailure(foreign)).toBe(true);
  expect(isFailure(foreign, 'FILE_NOT_FOUND')).toBe(true);
  expect(isFailure(foreign, 'INTERNAL')).toBe(false);
  expect(isFailure(new Error('other'))).toBe(false);
  expect(isFailure(undefined)).toBe(false);
  expect(isFailure(new LongshoreError('INTERNAL', {}))).toBe(true);
});
