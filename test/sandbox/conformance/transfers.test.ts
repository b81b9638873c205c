import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BACKENDS } from './backends.ts';
import { at, handle, shell, useSandbox } from './sandbox.ts';

describe.each(BACKENDS)('transfers on %s', (_name, open) => {
  useSandbox(open);
  let local: string;
  beforeAll(() => {
    local = mkdtempSync(join(tmpdir(), 'longshore-conformance-'));
  });
  afterAll(() => rmSync(local, { recursive: true, force: true }));

  test('take a file up and down', async () => {
    const bytes = randomBytes(6_000_000);
    writeFileSync(join(local, 'file'), bytes, { mode: 0o755 });
    await handle.uploadFile(join(local, 'file'), at('deep/file'));
    expect((await handle.fileInfo(at('deep/file')))?.mode).toBe(0o755);
    await handle.downloadFile(at('deep/file'), join(local, 'down/back'));
    expect(readFileSync(join(local, 'down/back')).equals(bytes)).toBe(true);
  });

  test('merge directories, keep what is there, and report what was left out', async () => {
    mkdirSync(join(local, 'tree/sub/empty'), { recursive: true });
    writeFileSync(join(local, 'tree/sub/grüße'), 'up');
    writeFileSync(join(local, 'tree/both'), 'new', { mode: 0o750 });
    symlinkSync('/etc/passwd', join(local, 'tree/link'));
    await handle.writeFile(at('tree/both'), 'old');
    await handle.writeFile(at('tree/theirs'), 'kept', { mode: 0o755 });
    const up = await handle.uploadDirectory(join(local, 'tree'), at('tree'));
    expect(up).toEqual({ files: 2, bytes: 5, failed: 1, failures: [{ path: 'link', problem: 'is a link' }] });
    expect(await shell('cat tree/both tree/theirs tree/sub/grüße; ls tree/sub')).toBe('newkeptupempty\ngrüße\n');
    const down = await handle.downloadDirectory(at('tree'), join(local, 'mirror'));
    expect(down).toEqual({ files: 3, bytes: 9, failed: 0, failures: [] });
    expect(['both', 'theirs', 'sub/grüße'].map((name) => statSync(join(local, 'mirror', name)).mode & 0o777)).toEqual([0o750, 0o755, 0o644]);
    expect(readdirSync(join(local, 'mirror'), { recursive: true, encoding: 'utf8' }).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'both',
      'sub',
      'sub/empty',
      'sub/grüße',
      'theirs',
    ]);
  });
});
