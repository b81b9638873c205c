import { makeThreadProgram } from '../../../src/plugins/schemas/thread-program.ts';
import { createValidators } from '../../../src/plugins/schemas/validators.ts';

test('threads whose program could not be made once are made again for the next check', async () => {
  let attempts = 0;
  const validators = createValidators({}, async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('too many open files');
    return makeThreadProgram();
  });
  const task = { key: 1, toCompile: { schema: { type: 'string' }, dialect: '2020-12' as const, needsExact: false }, value: 7 };
  await expect(validators.run('plugin', task)).rejects.toThrow('too many open files');
  expect(await validators.run('plugin', task)).toMatchObject({ problems: ['/: expected string, got number'] });
  expect(await validators.run('plugin', task)).toMatchObject({ problems: ['/: expected string, got number'] });
  expect(attempts).toBe(2);
});
