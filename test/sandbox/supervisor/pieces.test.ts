import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../src/platform/run-command.ts';

const ROUNDS = 500;

test('pieces of an upload that are written at the same time lose nothing of each other, holes or not', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-pieces-'));
  try {
    const outcome = await runCommand('python3', ['-S', join(import.meta.dirname, 'pieces.py'), String(ROUNDS), directory]);
    expect(outcome).toEqual({ code: 0, stdout: '0\n', stderr: '' });
  } finally {
    await rm(directory, { recursive: true });
  }
});
