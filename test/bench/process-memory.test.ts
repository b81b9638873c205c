import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { memoryUnlessEndedMib, proportionalSetSizeMib } from '../../bench/process-memory.ts';

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('a process that has ended while several are looked at holds nothing, and one alone that has ended is an error', async () => {
  const child = spawn('true');
  await once(child, 'exit');
  const pid = child.pid ?? 0;
  expect(await memoryUnlessEndedMib(pid)).toBe(0);
  await expect(proportionalSetSizeMib(pid)).rejects.toThrow();
  expect(await memoryUnlessEndedMib(process.pid)).toBeGreaterThan(1);
});
