import type { JsonObject } from '../../../src/contracts/json.ts';
import { createToolBench, type ToolBench } from './sandbox-context.ts';

let bench: ToolBench;
beforeAll(async () => {
  bench = await createToolBench();
});
afterAll(async () => {
  await bench?.[Symbol.asyncDispose]();
});

/** The text of a result; that of an error result comes after `ERROR `. */
async function call(tool: string, input: JsonObject, callId?: string): Promise<string> {
  const result = await bench.call(`files:${tool}`, input, callId);
  if (typeof result === 'string') return result;
  const { content, isError } = result as { content: { text: string }[]; isError: boolean };
  return `${isError ? 'ERROR ' : ''}${content[0]?.text}`;
}

const shell = (command: string): Promise<string> => bench.shell(command);

describe('files:write', () => {
  test('writes a file with its directories, as the user of the sandbox', async () => {
    await expect(call('write', { path: 'written/deep/a.txt', content: "it's\n€ $HOME `id`\n" })).resolves.toBe('Wrote written/deep/a.txt (20 bytes).');
    await expect(shell('stat -c "%u %a" written/deep/a.txt; cat written/deep/a.txt')).resolves.toBe("1000 644\nit's\n€ $HOME `id`\n");
  });

  test('keeps the mode of a file it replaces, follows a link and leaves nothing beside', async () => {
    await shell('mkdir -p kept && echo old > kept/run.sh && chmod 755 kept/run.sh && ln -s run.sh kept/link');
    await expect(call('write', { path: 'kept/link', content: 'new\n' })).resolves.toBe('Replaced kept/link (4 bytes).');
    await expect(shell('stat -c %a kept/run.sh; cat kept/run.sh; ls -A kept')).resolves.toBe('755\nnew\nlink\nrun.sh\n');
  });

  test('says what stands in its way', async () => {
    await shell('mkdir -p obstacle && touch obstacle/file');
    await expect(call('write', { path: 'obstacle', content: '' })).resolves.toBe('ERROR obstacle: is a directory');
    await expect(call('write', { path: 'obstacle/file/x', content: '' })).resolves.toMatch(
      /^ERROR obstacle\/file\/x: (a part of the path is not a directory|File exists)$/,
    );
    await expect(call('write', { path: '/etc/x', content: '' })).resolves.toMatch(
      /^ERROR \/etc\/x: (permission denied|this part of the file system is read-only)/,
    );
  });
});

describe('files:read', () => {
  test('gives a short file as it is', async () => {
    await shell(`printf 'one\\n\\ntwo €' > short.txt`);
    await expect(call('read', { path: 'short.txt' })).resolves.toBe('one\n\ntwo €');
    await expect(call('read', { path: '/home/user/short.txt' })).resolves.toBe('one\n\ntwo €');
  });

  test('gives pages of a long file and says how to go on', async () => {
    await shell('seq 1 5000 > long.txt');
    await expect(call('read', { path: 'long.txt', offsetLines: 2, limitLines: 2 })).resolves.toBe('3\n4\n[lines 3 to 4 of 5000; go on with offsetLines 4]');
    await expect(call('read', { path: 'long.txt', offsetLines: 4999 })).resolves.toBe('5000\n[lines 5000 to 5000 of 5000; this is the end]');
    await expect(call('read', { path: 'long.txt', offsetLines: 5000 })).resolves.toBe('ERROR long.txt: has only 5000 lines');
    await expect(call('read', { path: 'long.txt' })).resolves.toMatch(/\[lines 1 to 2000 of 5000; go on with offsetLines 2000\]$/);
  });

  test('a page stays below what a result may have, at the end of a line', async () => {
    await shell(`python3 -c "print(('x' * 999 + '\\n') * 100)" > wide.txt; python3 -c "print('y' * 50000)" > line.txt`);
    const page = await call('read', { path: 'wide.txt' });
    expect(Buffer.byteLength(page)).toBeLessThan(30_000);
    expect(page).toMatch(/x{999}\n\[lines 1 to 28 of 101; go on with offsetLines 28\]$/);
    await expect(call('read', { path: 'line.txt' })).resolves.toMatch(
      /^y{28000} \[line cut: 50001 bytes; for the rest use shell:run: sed -n 1p FILE \| tail -c \+28001\]\n$/,
    );
  });

  test('says what is no text file', async () => {
    await shell(`mkdir -p folder; printf 'a\\0b' > binary; : > empty; mkfifo pipe; touch closed; chmod 000 closed; ln -s nowhere dangling`);
    await expect(call('read', { path: 'none.txt' })).resolves.toBe('ERROR none.txt: no such file or directory');
    await expect(call('read', { path: 'dangling' })).resolves.toBe('ERROR dangling: no such file or directory');
    await expect(call('read', { path: 'folder' })).resolves.toBe('ERROR folder: is a directory');
    await expect(call('read', { path: 'binary' })).resolves.toMatch(/^ERROR binary: is a binary file of 3 bytes/);
    await expect(call('read', { path: 'pipe' })).resolves.toBe('ERROR pipe: is not a regular file');
    await expect(call('read', { path: 'closed' })).resolves.toBe('ERROR closed: permission denied');
    await expect(call('read', { path: 'empty' })).resolves.toBe('[the file is empty]');
  });
});

describe('files:edit', () => {
  test('replaces the one place and leaves every other byte as it is', async () => {
    await shell(`printf 'a\\r\\nold = 1\\r\\n\\xff\\n' > edit.txt`);
    await expect(call('edit', { path: 'edit.txt', oldText: 'old = 1', newText: 'new = "2"' })).resolves.toBe('Changed edit.txt at line 2.');
    await expect(shell('od -An -c edit.txt | tr -s " \\n" " "')).resolves.toBe(' a \\r \\n n e w = " 2 " \\r \\n 377 \\n ');
  });

  test('a repeated call does not edit twice', async () => {
    await shell('echo "x" > twice.txt');
    const input = { path: 'twice.txt', oldText: 'x', newText: 'xx' };
    await expect(call('edit', input, 'call-twice')).resolves.toBe('Changed twice.txt at line 1.');
    await expect(call('edit', input, 'call-twice')).resolves.toBe('Changed twice.txt at line 1.');
    await expect(shell('cat twice.txt')).resolves.toBe('xx\n');
  });

  test('refuses a text that is missing, occurs several times, or differs in its line ends', async () => {
    await shell(`printf 'aa\\naa\\nb\\r\\nc\\n' > many.txt`);
    await expect(call('edit', { path: 'many.txt', oldText: 'zz', newText: '' })).resolves.toMatch(
      /^ERROR many\.txt: oldText is not in the file; it was not changed/,
    );
    await expect(call('edit', { path: 'many.txt', oldText: 'aa', newText: '' })).resolves.toMatch(
      /oldText is there 2 times \(lines 1, 2\); the file was not changed/,
    );
    await expect(call('edit', { path: 'many.txt', oldText: 'b\nc', newText: '' })).resolves.toMatch(/with other line ends \(CRLF\)/);
    await expect(call('edit', { path: 'gone.txt', oldText: 'a', newText: '' })).resolves.toBe('ERROR gone.txt: no such file or directory');
    await expect(shell('cat many.txt')).resolves.toBe('aa\naa\nb\r\nc\n');
  });

  test('places that overlap count as several', async () => {
    await shell('echo aaa > overlap.txt');
    await expect(call('edit', { path: 'overlap.txt', oldText: 'aa', newText: 'b' })).resolves.toContain('is there 2 times');
  });
});

describe('files:list', () => {
  test('names directories, sizes and the targets of links, in order', async () => {
    await shell('mkdir -p tree/b tree/.git && echo 12345 > tree/a && ln -s a tree/c && touch tree/b/inner tree/.git/HEAD');
    await expect(call('list', { path: 'tree' })).resolves.toBe('.git/\na  6 bytes\nb/\nc -> a');
    await expect(call('list', { path: 'tree', recursive: true })).resolves.toBe('.git/ (not looked into)\na  6 bytes\nb/\nb/inner  0 bytes\nc -> a');
  });

  test('stops at 500 entries and says how many are left', async () => {
    await shell('mkdir -p crowd && cd crowd && seq 1 600 | xargs touch');
    const rest = '\n[100 more entries left out; list a directory below, or use files:search]';
    const listed = await call('list', { path: 'crowd' });
    expect(listed.endsWith(rest)).toBe(true);
    expect(listed.split('\n')).toHaveLength(501);
  });

  test('shows names that would look like other lines, or like nothing, in quotes', async () => {
    await shell(`mkdir -p odd/$'sub\\ndir' && touch odd/$'a\\n[the directory is empty]' odd/$'b\\e[2J' odd/$'c\\u202etxt' odd/plain`);
    const expected = ["'a\\n[the directory is empty]'  0 bytes", "'b\\x1b[2J'  0 bytes", "'c\\u202etxt'  0 bytes", 'plain  0 bytes', "'sub\\ndir'/"];
    await expect(call('list', { path: 'odd' })).resolves.toBe(expected.join('\n'));
  });

  test('says what cannot be listed', async () => {
    await shell('mkdir -p hollow && touch plain');
    await expect(call('list', { path: 'hollow' })).resolves.toBe('[the directory is empty]');
    await expect(call('list', { path: 'plain' })).resolves.toBe('ERROR plain: a part of the path is not a directory');
    await expect(call('list', { path: 'nothing' })).resolves.toBe('ERROR nothing: no such file or directory');
  });
});

describe('files:search', () => {
  beforeAll(async () => {
    await shell(`mkdir -p code/sub && printf 'def one():\\n  pass\\n' > code/a.py && printf 'Def two\\n' > code/sub/b.txt && seq 1 300 > code/numbers`);
  });

  test('gives file, line and text of each match', async () => {
    await expect(call('search', { path: 'code', pattern: 'def \\w+' })).resolves.toBe('code/a.py:1:def one():');
    await expect(call('search', { path: 'code', pattern: 'def', ignoreCase: true })).resolves.toBe('code/a.py:1:def one():\ncode/sub/b.txt:1:Def two');
    await expect(call('search', { path: 'code', pattern: 'def', ignoreCase: true, glob: '*.txt' })).resolves.toBe('code/sub/b.txt:1:Def two');
    await expect(call('search', { path: 'code', pattern: 'one()', fixed: true })).resolves.toBe('code/a.py:1:def one():');
  });

  test('nothing found is an answer, not an error', async () => {
    await expect(call('search', { path: 'code', pattern: 'three' })).resolves.toBe('[no matches]');
    await expect(call('search', { path: 'code', pattern: '--files' })).resolves.toBe('[no matches]');
  });

  test('stops at its limit and says so', async () => {
    await expect(call('search', { path: 'code/numbers', pattern: '.', limit: 2 })).resolves.toBe(
      'code/numbers:1:1\ncode/numbers:2:2\n[298 more matches left out; narrow the pattern, the path or the glob, or give a limit of up to 500]',
    );
  });

  test('names what it could not read, and says of many matches that there are more than it counted', async () => {
    await shell('mkdir -p part/closed && echo found > part/open && echo found > part/secret && chmod 000 part/closed part/secret && seq 1 300000 > part/long');
    const unread = '[not searched, since they cannot be read: part/closed: Permission denied (os error 13); part/secret: Permission denied (os error 13)]';
    await expect(call('search', { path: 'part', pattern: 'found' })).resolves.toBe(`part/open:1:found\n${unread}`);
    await expect(call('search', { path: 'part', pattern: 'absent' })).resolves.toBe(`[no matches]\n${unread}`);
    const many = await call('search', { path: 'part/long', pattern: '.', limit: 1 });
    expect(many).toBe('part/long:1:1\n[more than 100000 more matches left out; narrow the pattern, the path or the glob, or give a limit of up to 500]');
  });

  test('keeps a match apart from the name of its file', async () => {
    await shell(`mkdir -p named && echo found > named/$'x\\nopen:1:found' && printf 'found\\n\\0' > named/binary`);
    await expect(call('search', { path: 'named', pattern: 'found' })).resolves.toBe("'named/x\\nopen:1:found':1:found");
  });

  test('says what is wrong with a pattern or a path', async () => {
    await expect(call('search', { path: 'code', pattern: '(' })).resolves.toMatch(/^ERROR .*unclosed group/s);
    await expect(call('search', { path: 'absent', pattern: 'x' })).resolves.toBe('ERROR absent: no such file or directory');
  });
});
