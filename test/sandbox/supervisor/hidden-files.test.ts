import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../src/platform/run-command.ts';

const onRoot = process.platform === 'linux' && process.getuid?.() === 0 ? test : test.skip;

onRoot("only a living process of the guest's own can hide files: not the supervisor's child that acts for it, and not one that has ended", async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-hidden-'));
  await chmod(directory, 0o755);
  try {
    const outcome = await runCommand('python3', ['-S', join(import.meta.dirname, 'hidden_files.py'), directory]);
    expect(outcome).toEqual({
      code: 0,
      stdout: 'closed complete=True hidden=True\nat_file_work complete=True hidden=False\nended complete=True hidden=False\n',
      stderr: '',
    });
  } finally {
    await rm(directory, { recursive: true });
  }
});
