import { PassThrough } from 'node:stream';
import type { Cli } from '../../src/cli/output/cli.ts';
import { createOutput } from '../../src/cli/output/terminal.ts';
import { oneByOne } from '../../src/cli/sandbox/one-by-one.ts';

function startCli() {
  const err = new PassThrough();
  const listeners = new Set<() => void>();
  const unused = () => {
    throw new Error('not used here');
  };
  const cli: Cli = {
    out: createOutput(new PassThrough()),
    err: createOutput(err),
    in: new PassThrough(),
    config: unused,
    connect: unused,
    onInterrupt(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    onReaderGone: () => () => undefined,
    exitCode: 0,
  };
  const interrupt = () => [...listeners].forEach((listener) => listener());
  return { cli, listeners, interrupt, said: () => String((err.read() as Buffer | null) ?? '') };
}

test('an interrupted command ends what is under way, begins nothing more, and says both', async () => {
  const { cli, listeners, interrupt, said } = startCli();
  const done: string[] = [];
  const work = async (id: string) => {
    if (id === 'sbx_b') interrupt();
    await Promise.resolve();
    done.push(id);
  };
  await oneByOne(cli, ['sbx_a', 'sbx_b', 'sbx_c', 'sbx_d'], work);
  expect([done, cli.exitCode]).toEqual([['sbx_a', 'sbx_b'], 130]);
  expect(said()).toBe('Interrupted: sbx_b is under way and comes to its end; another Ctrl-C breaks it off.\nNot begun: sbx_c, sbx_d\n');
  expect(listeners.size).toBe(0);
});

test('a second interruption is not kept from ending the process; nor is one after a failure', async () => {
  const { cli, listeners, interrupt } = startCli();
  await oneByOne(cli, ['sbx_a'], async () => {
    interrupt();
    expect(listeners.size).toBe(0);
  });
  expect(cli.exitCode).toBe(130);
  await expect(oneByOne(cli, ['sbx_a'], async () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(listeners.size).toBe(0);
});
