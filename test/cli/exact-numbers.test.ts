import type { Longshore } from '../../src/client.ts';
import { approveCommand } from '../../src/cli/conversations/approve.ts';
import type { Cli } from '../../src/cli/output/cli.ts';
import { configurePlugin } from '../../src/cli/plugins/configure-plugin.ts';

const cli = {} as Cli;

test('arguments of a call and configurations with numbers that would be rounded are refused', async () => {
  const arguments_ = approveCommand(cli).options.find(({ long }) => long === '--arguments');
  expect(arguments_?.parseArg?.('{"id":"9007199254740993"}', undefined)).toEqual({ id: '9007199254740993' });
  expect(() => arguments_?.parseArg?.('{"id":9007199254740993}', undefined)).toThrow('Its number 9007199254740993 would be rounded. Write it as a string.');
  expect(() => arguments_?.parseArg?.('[]', undefined)).toThrow('Give a JSON object.');
  const longshore = { plugins: { get: async () => ({ id: 'words', config: {}, configVersion: 1 }) } } as unknown as Longshore;
  const set = configurePlugin(cli, longshore, 'words', { set: ['id=9007199254740993'] });
  await expect(set).rejects.toThrow(`value: the number 9007199254740993 would be rounded. Write it as a string: '"9007199254740993"'`);
});
