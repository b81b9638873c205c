import { randomBytes, randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { FileEvent, FileWatch } from '../../../src/sandbox/api/files.ts';
import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import type { Pty } from '../../../src/sandbox/api/terminals.ts';
import { until } from '../lifecycle/support.ts';
import { BACKENDS, type Backend } from './backends.ts';

describe.each(BACKENDS)('%s', (_name, open) => {
  let backend: Backend;
  let handle: SandboxHandle;
  let local: string;
  let directories = 0;
  let base: string;
  /** A directory of the test's own in the sandbox. */
  let home: string;
  beforeAll(async () => {
    backend = await open();
    ({ handle } = backend);
    base = (await handle.run('pwd')).stdout.text.trim();
    local = mkdtempSync(join(tmpdir(), 'longshore-conformance-'));
  });
  afterAll(async () => {
    await backend?.[Symbol.asyncDispose]();
    rmSync(local, { recursive: true, force: true });
  });
  beforeEach(async () => {
    // Where a sandbox has its home is its backend's affair.
    home = `${base}/test-${(directories += 1)}`;
    await handle.createDirectory(home);
  });
  const at = (name: string): string => `${home}/${name}`;
  const shell = async (command: string): Promise<string> => (await handle.run(command, { cwd: home })).stdout.text;

  describe('commands', () => {
    test('give status, exit code, both outputs, and honour directory, environment and input', async () => {
      const result = await handle.run('pwd; echo "$GREETING" >&2; cat; exit 3', { cwd: home, env: { GREETING: 'hi' }, stdin: 'typed' });
      expect(result).toMatchObject({ status: 'exited', exitCode: 3, stdout: { text: `${home}\ntyped` }, stderr: { text: 'hi\n' } });
    });

    test('are ended at their time limit with all they started, and keep what they wrote', async () => {
      // Of this run alone: a sandbox may see the processes of others.
      const seconds = `987.${randomInt(1e6)}`;
      const result = await handle.run(`echo begun; setsid sleep ${seconds} & sleep ${seconds}`, { timeoutMs: 300 });
      expect(result).toMatchObject({ status: 'timeout', stdout: { text: 'begun\n' } });
      expect(await shell(`pgrep -fc "[s]leep ${seconds}" || true`)).toBe('0\n');
    });

    test('run on in the background, are listed, followed from an offset, and ended', async () => {
      const { execId } = await handle.start('echo one; while [ ! -e stop ]; do sleep 0.02; done; echo two; sleep 987', { cwd: home, timeoutMs: 0 });
      await handle.writeFile(at('stop'), '');
      await until(async () => (await handle.execs()).find((exec) => exec.execId === execId)?.stdoutBytes === 8, 'both lines are written');
      const chunks: string[] = [];
      const followed = handle.attach(execId, { stdout: 4, stderr: 0 }, { onStdout: (chunk) => chunks.push(chunk.toString()) });
      await until(async () => chunks.join('') === 'two\n', 'the second line is followed');
      expect(await handle.kill(execId)).toBe(true);
      expect(await followed).toMatchObject({ status: 'killed' });
      expect(await handle.kill(execId)).toBe(false);
    });

    test('that are longer than an argument may be run as they are', async () => {
      const text = 'grüße 😀 '.repeat(40_000);
      const result = await handle.run(`cat <<'END' | wc -c\n${text}\nEND\necho "$#" "$0"`);
      expect(result.stdout.text).toBe(`${Buffer.byteLength(text) + 1}\n0 /bin/bash\n`);
      await expect(handle.run('x'.repeat(1_000_000))).rejects.toThrow('run.command: it has 1000000 characters. Give a command of at most 900000');
    });

    test('that are too many at once wait for their turn, with their input', async () => {
      const started = await Promise.all(Array.from({ length: 100 }, () => handle.start('exec sleep 987', { timeoutMs: 0 })));
      let ended = 0;
      const waiting = ['one', 'two'].map(async (name) => {
        const { stdout } = await handle.run('cat', { stdin: name, timeoutMs: 20_000 });
        ended += 1;
        return stdout.text;
      });
      const letGo = new AbortController();
      const given = expect(handle.run('true', { signal: letGo.signal })).rejects.toMatchObject({ code: 'INTERRUPTED' });
      expect(await handle.fileExists('.')).toBe(true);
      letGo.abort();
      await given;
      expect(ended).toBe(0);
      await Promise.all(started.map(({ execId }) => handle.kill(execId, 'SIGKILL')));
      expect(await Promise.all(waiting)).toEqual(['one', 'two']);
    });

    test('are sent signals, which they may handle, and their output is found by its path', async () => {
      const command = 'trap "echo hup" HUP; trap "echo usr1; exit 0" USR1; echo ready; while :; do sleep 0.02; done';
      const { execId } = await handle.start(command, { timeoutMs: 0 });
      const wrote = async (text: string) => (await handle.readFile((await info()).stdoutPath ?? '', { encoding: 'utf-8' })) === text;
      const info = async () => (await handle.execs()).find((exec) => exec.execId === execId) ?? { state: 'none', stdoutPath: undefined };
      await until(() => wrote('ready\n'), 'it handles signals');
      expect(await handle.kill(execId, 'SIGHUP')).toBe(true);
      await until(() => wrote('ready\nhup\n'), 'HUP is handled');
      await handle.kill(execId, 'SIGUSR1');
      expect(await handle.attach(execId)).toMatchObject({ status: 'exited', exitCode: 0 });
    });

    test('the same id twice is one command', async () => {
      const options = { execId: `once-${directories}`, cwd: home };
      await Promise.all([handle.run('echo ran >> runs', options), handle.run('echo ran >> runs', options)]);
      expect(await shell('cat runs')).toBe('ran\n');
    });
  });

  describe('files', () => {
    test('are written with their directories and read as bytes, text and stream', async () => {
      await handle.writeFile(at('a/b.txt'), 'grüße', { mode: 0o640 });
      expect(await handle.readFile(at('a/b.txt'))).toEqual(Buffer.from('grüße'));
      expect(await handle.readFile(at('a/b.txt'), { encoding: 'utf-8' })).toBe('grüße');
      expect(await handle.fileInfo(at('a/b.txt'))).toMatchObject({ type: 'file', mode: 0o640, size: 7, encoding: 'utf-8' });
      await expect(handle.writeFile(at('none/x'), '', { createDirectories: false })).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    });

    test('of many pieces pass as streams, both ways, unchanged', async () => {
      const bytes = randomBytes(9_000_001);
      await handle.writeFile(at('big'), Readable.from(cut(bytes, 70_000)));
      const chunks: Buffer[] = [];
      for await (const chunk of handle.readFileStream(at('big'))) chunks.push(chunk);
      expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
      const part: Buffer[] = [];
      for await (const chunk of handle.readFileStream(at('big'), { offset: 10, maxBytes: 20 })) part.push(chunk);
      expect(Buffer.concat(part).equals(bytes.subarray(10, 30))).toBe(true);
    });

    test.each(['utf-16le', 'utf-16be', 'windows-1252', 'utf-8-bom'])('keep texts in %s', async (encoding) => {
      const text = encoding === 'windows-1252' ? 'grüße – €' : '\uFEFFgrüße €'.slice(encoding === 'utf-8-bom' ? 1 : 0);
      await handle.writeFile(at('text'), text, { encoding });
      expect((await handle.fileInfo(at('text')))?.encoding).toBe(encoding);
      expect(await handle.readFile(at('text'), { encoding: 'auto' })).toBe(text.replace('\uFEFF', ''));
    });

    test('that do not exist are undefined, false, or an error', async () => {
      expect(await handle.fileInfo(at('none'))).toBeUndefined();
      expect(await handle.fileExists(at('none'))).toBe(false);
      expect(await handle.fileExists(home)).toBe(true);
      await expect(handle.readFile(at('none'))).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
      await expect(handle.removeFile(at('none'))).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
      await expect(handle.listFiles(at('none'))).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    });

    test('are written together, from all that JavaScript has bytes in', async () => {
      const bytes = new Uint8Array([1, 2, 3]);
      await handle.writeFiles([
        { path: at('text'), data: 'a', mode: 0o600 },
        { path: at('buffer'), data: bytes.buffer },
        { path: at('blob'), data: new Blob(['from a ', 'blob']) },
        { path: at('stream'), data: new Blob(['streamed']).stream() },
      ]);
      expect((await handle.fileInfo(at('text')))?.mode).toBe(0o600);
      expect(await handle.readFile(at('buffer'))).toEqual(Buffer.from(bytes));
      expect(await handle.readFile(at('blob'), { encoding: 'utf-8' })).toBe('from a blob');
      expect(await handle.readFile(at('stream'), { encoding: 'utf-8' })).toBe('streamed');
      await expect(
        handle.writeFiles([
          { path: at('text/below'), data: 'x' },
          { path: at('other'), data: 'x' },
        ]),
      ).rejects.toMatchObject({ code: 'FILE_FAILED' });
      expect(await handle.fileExists(at('other'))).toBe(true);
    });

    test('are renamed, and a directory that is missing is named', async () => {
      await handle.writeFile(at('old'), 'x');
      await expect(handle.rename(at('old'), at('none/new'))).rejects.toThrow(
        `${at('none/new')}: its directory ${at('none')} does not exist; create it with createDirectory("${at('none')}")`,
      );
      await expect(handle.rename(at('none'), at('new'))).rejects.toThrow(`No such file or directory: ${at('none')}`);
      await handle.rename(at('old'), at('new'));
      expect(await handle.fileExists(at('new'))).toBe(true);
    });

    test('that are links are told as links', async () => {
      await shell('ln -s /etc/passwd link');
      expect(await handle.fileInfo(at('link'))).toMatchObject({ type: 'link', linkTarget: '/etc/passwd' });
    });

    test('are listed, with a pattern for names or for paths', async () => {
      await shell('mkdir -p a/b; touch one.py a/two.py a/b/three.py a/b/x.txt');
      const names = async (options: Parameters<SandboxHandle['listFiles']>[1]) =>
        (await handle.listFiles(home, options)).map(({ path }) => path.slice(home.length + 1));
      expect(await names({})).toEqual(['a', 'one.py']);
      expect(await names({ recursive: true, pattern: '*.py' })).toEqual(['one.py', 'a/two.py', 'a/b/three.py']);
      expect(await names({ recursive: true, pattern: 'a/**/*.py' })).toEqual(['a/two.py', 'a/b/three.py']);
    });

    test('fit patterns as a shell with globstar has them', async () => {
      await shell('mkdir -p a/b/c .hidden; touch one.py a/two.py a/b/c/three.py a/b/x.txt .hidden/four.py a/.five.py a/ü.py');
      const glob = (pattern: string, options = {}) => handle.glob(pattern, { cwd: home, ...options });
      expect(await glob('*.py')).toEqual(['one.py']);
      expect(await glob('**/*.py')).toEqual(['a/b/c/three.py', 'a/two.py', 'a/ü.py', 'one.py']);
      expect(await glob('a/**/*.py')).toEqual(['a/b/c/three.py', 'a/two.py', 'a/ü.py']);
      expect(await glob('a/**/c/*.{py,txt}')).toEqual(['a/b/c/three.py']);
      expect(await glob('a/?.py')).toEqual(['a/ü.py']);
      expect(await glob('[!o]*')).toEqual(['a']);
      expect(await glob('.*/*.py')).toEqual(['.hidden/four.py']);
      expect(await glob('**/*f*.py', { hidden: true })).toEqual(['.hidden/four.py', 'a/.five.py']);
      expect(await glob(`${home}/*.py`)).toEqual([`${home}/one.py`]);
      expect(await glob('none/*')).toEqual([]);
      await expect(glob('**', { maxEntries: 3 })).rejects.toMatchObject({ code: 'FILE_FAILED' });
    });

    test('are edited in one place, with their encoding and line ends', async () => {
      expect(await handle.editFile(at('new'), { oldText: '', newText: 'a\nb\n' })).toEqual({ change: 'created', line: 1 });
      await expect(handle.editFile(at('new'), { oldText: '', newText: 'c' })).rejects.toMatchObject({ code: 'FILE_FAILED' });
      await handle.writeFile(at('windows'), 'é one\r\ntwo\r\nthree\r\n', { encoding: 'windows-1252', mode: 0o600 });
      expect(await handle.editFile(at('windows'), { oldText: 'one\ntwo', newText: 'ü\n2' })).toEqual({ change: 'updated', line: 1 });
      expect(await handle.readFile(at('windows'), { encoding: 'windows-1252' })).toBe('é ü\r\n2\r\nthree\r\n');
      expect(await handle.editFile(at('windows'), { oldText: 'three\n', newText: '' })).toEqual({ change: 'removed', line: 3 });
      expect((await handle.fileInfo(at('windows')))?.mode).toBe(0o600);
    });

    test('are not edited where the text is missing or there twice', async () => {
      await handle.writeFile(at('text'), 'x\ny\nx\n');
      await expect(handle.editFile(at('text'), { oldText: 'x', newText: 'z' })).rejects.toThrow('2 times (lines 1, 3)');
      await expect(handle.editFile(at('text'), { oldText: 'none', newText: 'z' })).rejects.toThrow('is not in it');
      await expect(handle.editFile(at('none'), { oldText: 'x', newText: 'z' })).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
      expect(await handle.readFile(at('text'), { encoding: 'utf-8' })).toBe('x\ny\nx\n');
    });

    test('directories are made with or without parents, and removed whole', async () => {
      await expect(handle.createDirectory(at('a/b'), { parents: false })).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
      await handle.createDirectory(at('a/b'));
      await handle.rename(at('a'), at('c'));
      expect(await handle.fileExists(at('c/b'))).toBe(true);
      await handle.removeFile(at('c'), { recursive: true });
      expect(await handle.listFiles(home)).toEqual([]);
    });
  });

  describe('transfers', () => {
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

  describe('a watch', () => {
    test('tells what is made, changed and removed, in new directories too', async () => {
      await using watch = await handle.watch(home, { recursive: true });
      const seen = collect(watch);
      const told = (type: string, path: string) =>
        until(async () => seen.some((event) => event.type === type && event.path === at(path)), `${path} is ${type}`);
      await shell('mkdir sub; echo 1 > sub/file');
      await told('created', 'sub');
      // What comes and goes in a new directory before it can be watched cannot be reported.
      await told('created', 'sub/file');
      await shell('echo 2 >> sub/file');
      await told('changed', 'sub/file');
      await shell('rm sub/file');
      await told('removed', 'sub/file');
    });

    test('ends when what it watches is removed, and says so', async () => {
      await handle.createDirectory(at('gone'));
      const watch = await handle.watch(at('gone'));
      const seen = collect(watch);
      await handle.removeFile(at('gone'));
      await watch.closed;
      await until(async () => seen.length > 0, 'the end is told');
      expect(seen.at(-1)).toEqual({ type: 'removed', path: at('gone') });
      await expect(handle.watch(at('none'))).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    });
  });

  describe('a terminal', () => {
    test('is one, takes input, is resized, and tells its end', async () => {
      const screen = new Screen();
      const pty = await handle.openPty({
        command: 'trap "stty size" WINCH; tty; stty size; while read line; do echo "got $line"; [ "$line" = end ] && exit 4; done',
        columns: 90,
        rows: 20,
        onData: screen.take,
      });
      await screen.shows(/\/dev\/pts\/\d+\r\n20 90\r\n/);
      await pty.resize({ columns: 100, rows: 30 });
      await pty.write('hello\r');
      await screen.shows(/got hello/);
      await screen.shows(/30 100/);
      await pty.write('end\r');
      expect(await pty.ended).toEqual({ status: 'exited', exitCode: 4 });
    });

    test('lives on when it is detached, and continues where it was left', async () => {
      const first = new Screen();
      const pty: Pty = await handle.openPty({ command: 'echo one; read line; echo two; read line', onData: first.take });
      await first.shows(/one\r\n/);
      pty.detach();
      await expect(pty.ended).rejects.toMatchObject({ code: 'DETACHED' });
      const second = new Screen();
      const again = await handle.attachPty(pty.ptyId, { from: pty.offset, onData: second.take });
      await again.write('\r');
      await second.shows(/two\r\n/);
      expect(second.text).not.toContain('one');
      await again.kill();
      expect(await again.ended).toMatchObject({ status: 'killed' });
    });
  });
});

class Screen {
  text = '';
  readonly take = (chunk: Buffer): void => void (this.text += chunk.toString());

  shows(what: RegExp): Promise<void> {
    return until(async () => what.test(this.text), `${what} on the screen`);
  }
}

function collect(watch: FileWatch): FileEvent[] {
  const events: FileEvent[] = [];
  void (async () => {
    for await (const event of watch) events.push(event);
  })();
  return events;
}

function* cut(bytes: Buffer, size: number): Generator<Buffer> {
  for (let position = 0; position < bytes.length; position += size) yield bytes.subarray(position, position + size);
}
