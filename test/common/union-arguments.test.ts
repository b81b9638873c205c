import { z } from 'zod';
import { read } from '../../src/common/arguments.ts';

const duration = z.union([z.string(), z.number()]);
const refused = (schema: z.ZodType, value: unknown) => {
  try {
    read('limits', schema, value);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('it was taken');
};

test.each([
  [{ time: Infinity }, 'limits.time: it is Infinity. Give a text or a finite number'],
  [{ time: true }, 'limits.time: it is true. Give a text or a finite number'],
])('of what may be one of several kinds, %p is refused with the kinds that may be given', (value, message) => {
  expect(refused(z.object({ time: duration }), value)).toBe(message);
});

test('of what may be one of several forms, the one that was meant says what is wrong', () => {
  const either = z.object({ permissions: z.union([z.literal('asked'), z.strictObject({ network: z.array(z.string()) })]) });
  expect(refused(either, { permissions: { netwrk: [] } })).toBe('limits.permissions: "netwrk" is no option. Use network');
  expect(refused(either, { permissions: { network: 'all' } })).toBe('limits.permissions.network: it is "all". Give an array');
  expect(refused(either, { permissions: 'all' })).toBe('limits.permissions: it is "all". Use one of asked or an object');
});

test('a union with a text of its own says that', () => {
  expect(refused(z.union([z.string(), z.number()], { error: 'Give a time such as 1h' }), true)).toBe('limits: it is true. Give a time such as 1h');
});
