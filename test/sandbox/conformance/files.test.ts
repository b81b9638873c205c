import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import { BACKENDS } from './backends.ts';
import { at, handle, home, shell, useSandbox } from './sandbox.ts';

describe.each(BACKENDS)('files on %s', (_name, open) => {
  useSandbox(open);

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

function* cut(bytes: Buffer, size: number): Generator<Buffer> {
  for (let position = 0; position < bytes.length; position += size) yield bytes.subarray(position, position + size);
}
