import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fence } from '../../../../src/plugins/isolates/fence/fence.ts';
import { startPluginProcess } from '../../../../src/plugins/isolates/plugin-process.ts';

/** Why a process has ended that complains of this, and then kills itself. */
async function whyOf(complaint: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-ends-test-'));
  try {
    const path = join(directory, 'program.cjs');
    await writeFile(path, `require('fs').writeSync(2, ${JSON.stringify(complaint)}); process.kill(process.pid, 'SIGSEGV'); setInterval(() => {}, 1000);`);
    const fence = { command: (script: string) => [process.execPath, script], clean: async () => undefined } as unknown as Fence;
    const started = startPluginProcess(fence, { path, directory });
    const why = await started.ended;
    await started.gone;
    return why;
  } finally {
    await rm(directory, { recursive: true });
  }
}

test('a process that has run out of memory ends for that, also when it wrote a long trace and crashed in the middle of it', async () => {
  const frames = Array.from({ length: 40 }, (_, number) => `${number}: 0xb78db3 ${'v8::internal::Heap::'.repeat(15)} [node]`);
  expect(await whyOf(`FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n${frames.join('\n')}`)).toBe('it ran out of memory');
});

test('one that crashes for another reason says how, with its last line', async () => {
  expect(await whyOf('first\nlast\n')).toBe('it ended by itself with SIGSEGV (last)');
});
