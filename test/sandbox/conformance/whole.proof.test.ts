import { mkdtemp, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import { until } from '../lifecycle/support.ts';
import { BACKENDS, type Backend } from './backends.ts';

describe.each(BACKENDS)('nothing is lost or cut silently on %s', (_name, open) => {
  let backend: Backend;
  let handle: SandboxHandle;
  let second: SandboxHandle;
  let local: string;
  beforeAll(async () => {
    backend = await open();
    handle = backend.handle;
    ({ handle: second } = await backend.sandboxes.open({ sandboxId: backend.sandboxId, tenantId: 'tenant' }, {}));
    local = await mkdtemp(join(tmpdir(), 'longshore-whole-'));
  });
  afterAll(async () => {
    await rm(local, { recursive: true, force: true });
    await backend?.[Symbol.asyncDispose]();
  });

  test('of 24 edits of one file at once, by two handles and beside other writes, none is lost', async () => {
    const marks = Array.from({ length: 24 }, (_, index) => `<${index}>`);
    await handle.writeFile('shared.txt', marks.join('\n'), { mode: 0o640 });
    await handle.run('ln -s shared.txt linked.txt');
    const edits = marks.map((mark, index) =>
      (index % 2 ? handle : second).editFile(index % 3 ? 'shared.txt' : 'linked.txt', { oldText: mark, newText: `[${index}]` }),
    );
    await Promise.all([...edits, ...marks.map((_, index) => handle.writeFile(`other-${index % 3}.txt`, 'x'))]);
    const text = await handle.readFile('shared.txt', { encoding: 'utf-8' });
    expect(text.split('\n')).toEqual(marks.map((_, index) => `[${index}]`));
    expect((await handle.fileInfo('shared.txt'))?.mode).toBe(0o640);
    expect((await handle.fileInfo('linked.txt'))?.type).toBe('link');
  });

  test('of edits that create one file, one does, and the others say that it is there', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => handle.editFile('created.txt', { oldText: '', newText: `${index}` })));
    const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as object] : []));
    expect(failed).toHaveLength(7);
    for (const error of failed) expect(error).toMatchObject({ code: 'FILE_FAILED', message: expect.stringContaining('exists already') });
  });

  test('a file that is rewritten all the time is read as it was at one moment, or the error says that it changes', async () => {
    await handle.start('while :; do echo aaaa > busy; echo bbbb > busy; done', { execId: 'rewriter', timeoutMs: 0 });
    await until(() => handle.fileExists('busy'), 'it is written');
    for (let round = 0; round < 20; round += 1) {
      const read = await handle.readFile('busy', { encoding: 'utf-8' }).catch((error: { code: string; message: string }) => error);
      if (typeof read === 'string') expect(['', 'aaaa\n', 'bbbb\n']).toContain(read);
      else expect(read).toMatchObject({ code: 'FILE_CHANGED', message: expect.stringContaining('it changed during each of the') });
    }
    await handle.kill('rewriter', 'SIGKILL');
  });

  test('a list that has no room for all is an error that says how to get the rest', async () => {
    await handle.run('mkdir many && cd many && seq 10001 | xargs touch');
    await expect(handle.listFiles('many')).rejects.toMatchObject({ code: 'FILE_FAILED', message: expect.stringContaining('has more than 10000 entries') });
    expect(await handle.listFiles('many', { maxEntries: 20_000 })).toHaveLength(10_001);
    expect(await handle.listFiles('many', { maxEntries: 5 })).toHaveLength(5);
  });

  test('output beyond maxOutputBytes is counted, and the result says how much was dropped', async () => {
    let seen = 0;
    const { stdout } = await handle.run('head -c 5000 /dev/zero | tr "\\0" x', { maxOutputBytes: 1000, onStdout: (chunk) => (seen += chunk.length) });
    expect(stdout).toMatchObject({ totalBytes: 5000, droppedBytes: 4000, truncated: true, text: expect.stringContaining('the last 4000 bytes were not kept') });
    expect(seen).toBe(1000);
  });

  test.each(['python', 'javascript'] as const)('values of %s that are too large say so, whole or in part', async (language) => {
    const code = language === 'python' ? "'x' * 17_000_000" : "'x'.repeat(17_000_000)";
    const result = await handle.runCode(code, { language });
    expect({ status: result.status, truncated: result.truncated }).toEqual({ status: 'finished', truncated: true });
  });

  test.each(['python', 'javascript'] as const)('env and cwd of a piece of %s are its own', async (language) => {
    const read = language === 'python' ? 'import os\nprint(os.getcwd(), os.environ.get("OWN"))' : 'console.log(process.cwd(), process.env.OWN ?? null)';
    const run = (options: object) => handle.runCode(read, { language, contextId: 'own', ...options });
    const before = (await run({})).stdout;
    expect((await run({ cwd: '/tmp', env: { OWN: 'yes' } })).stdout).toBe('/tmp yes\n');
    expect((await run({})).stdout).toBe(before);
  });

  test('an aborted piece of code leaves its context free for the next', async () => {
    const options = { language: 'python', contextId: 'aborted' } as const;
    await handle.runCode('kept = 1', options);
    const abort = new AbortController();
    const running = handle.runCode('print("begun")\nimport time\ntime.sleep(1000)', {
      ...options,
      signal: abort.signal,
      onOutput: () => abort.abort(),
    });
    await expect(running).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect((await handle.runCode('print(kept)', options)).stdout).toBe('1\n');
    const early = new AbortController();
    const soon = handle.runCode('import time\ntime.sleep(1000)', { ...options, signal: early.signal });
    early.abort();
    await expect(soon).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });

  test('files keep their mode on the way down, through links too, and one that changes on the way up is refused', async () => {
    await handle.run('printf "#!/bin/sh\\n" > tool && chmod 755 tool && ln -s tool alias && printf secret > key && chmod 600 key');
    for (const [name, mode] of Object.entries({ tool: 0o755, alias: 0o755, key: 0o600 })) {
      await handle.downloadFile(name, join(local, name));
      expect([name, (await stat(join(local, name))).mode & 0o777]).toEqual([name, mode]);
    }
    const path = join(local, 'shrinks');
    await writeFile(path, Buffer.alloc(12_000_000));
    const shrink = handle.uploadFile(path, 'shrunk', { onBytes: () => void truncate(path, 100) });
    await expect(shrink).rejects.toMatchObject({
      code: 'FILE_FAILED',
      message: expect.stringContaining('was changed while it was read: it had 12000000 bytes'),
    });
    expect(await handle.fileExists('shrunk')).toBe(false);
  });
});

describe.each(BACKENDS)('open input and terminals on %s', (_name, open) => {
  let backend: Backend;
  let handle: SandboxHandle;
  beforeAll(async () => {
    backend = await open();
    handle = backend.handle;
  });
  afterAll(async () => {
    await backend?.[Symbol.asyncDispose]();
  });

  test('a command with open input takes what is written until it is closed, and then says that it has ended', async () => {
    const { execId } = await handle.start('cat', { stdin: 'open' });
    await handle.writeStdin(execId, 'one ');
    await handle.writeStdin(execId, 'two');
    await handle.closeStdin(execId);
    expect(await handle.attach(execId)).toMatchObject({ status: 'exited', stdout: { text: 'one two' } });
    await expect(handle.writeStdin(execId, 'three')).rejects.toMatchObject({ code: 'STDIN_CLOSED', message: expect.stringContaining(execId) });
  });

  test('a stream does not hold back the start, and one that fails ends the command and is told', async () => {
    let give = (_piece: Buffer): void => undefined;
    const first = new Promise<Buffer>((resolve) => (give = resolve));
    async function* slow() {
      yield await first;
    }
    const { execId } = await handle.start('cat', { stdin: slow() });
    give(Buffer.from('late'));
    expect((await handle.attach(execId)).stdout.text).toBe('late');

    const problem = new Error('the source broke');
    async function* broken() {
      yield Buffer.from('half');
      throw problem;
    }
    let told: unknown;
    const started = await handle.start('cat; sleep 1000', { stdin: broken(), timeoutMs: 0, onStdinError: (error) => (told = error) });
    expect(await handle.attach(started.execId)).toMatchObject({ status: 'killed' });
    expect(told).toBe(problem);
    await expect(handle.run('cat; sleep 1000', { stdin: broken(), timeoutMs: 0 })).rejects.toBe(problem);
  });

  test('a resize right after opening counts', async () => {
    for (let round = 0; round < 5; round += 1) {
      let seen = '';
      const pty = await handle.openPty({ command: 'sleep 0.5; stty size', columns: 80, rows: 24, onData: (chunk) => void (seen += chunk.toString()) });
      await pty.resize({ columns: 101, rows: 37 });
      expect(await pty.ended).toMatchObject({ exitCode: 0 });
      expect(seen).toContain('37 101');
    }
  });

  test('terminals without a reader, unknown ones and commands without one are refused by name', async () => {
    const onData = () => undefined;
    await expect(handle.openPty({} as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('onData') });
    await expect(handle.attachPty('unknown', { onData })).rejects.toMatchObject({ code: 'EXEC_NOT_FOUND', message: expect.stringContaining('unknown') });
    await handle.run('true', { execId: 'plain' });
    await expect(handle.attachPty('plain', { onData })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('without a terminal'),
    });
  });

  test('a terminal tells all of a large output in order, characters whole for two readers, after its end too', async () => {
    const read = async (attach: (onData: (chunk: Buffer) => void) => Promise<{ ended: Promise<unknown> }>) => {
      const chunks: Buffer[] = [];
      const pty = await attach((chunk) => void chunks.push(chunk));
      await pty.ended;
      return Buffer.concat(chunks).toString();
    };
    const command = 'for i in $(seq 30000); do echo "é$i"; done; exit 7';
    const first = await read((onData) => handle.openPty({ ptyId: 'large', command, onData }));
    expect(first.trimEnd().split('\r\n')).toEqual(Array.from({ length: 30_000 }, (_, index) => `é${index + 1}`));
    const [again, too] = await Promise.all([1, 2].map(() => read((onData) => handle.attachPty('large', { onData }))));
    expect([again === first, too === first]).toEqual([true, true]);
    const pty = await handle.attachPty('large', { onData: () => undefined });
    expect(await pty.ended).toMatchObject({ status: 'exited', exitCode: 7 });
  });
});
