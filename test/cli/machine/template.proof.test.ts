import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../src/platform/run-command.ts';
import { loadTemplates } from '../../../src/definitions/templates/load-templates.ts';
import { createTestSandboxes, output } from '../../sandbox/lifecycle/support.ts';
import { testInstallation } from '../../support/databases.ts';
import { runLine } from '../support.ts';
import { until } from '../../e2e/support.ts';

const name = testInstallation();
const before = { ...process.env };
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-template-'));
  await mkdir(join(directory, 'agents'));
  await mkdir(join(directory, 'templates/own'), { recursive: true });
  process.env['LONGSHORE_AGENTS'] = join(directory, 'agents');
});
afterAll(async () => {
  process.env = before;
  await runLine(undefined, ['template', 'rm', name, '--force']);
  await rm(directory, { recursive: true });
});

const line = (...args: string[]) => runLine(undefined, ['template', ...args]);
const write = (text: string) => writeFile(join(directory, `templates/${name}.yaml`), text);
const template = async () => (await loadTemplates(join(directory, 'templates'))).get(name)!;
const image = async () => (await template()).options.image ?? '';
const listed = async () => (JSON.parse((await line('ls', '--json')).out) as { name: string }[]).find((row) => row.name === name);

test('a template is built once, its sandboxes are as it says, and its old image goes when nothing uses it', async () => {
  await write(`users: [{ name: builder, uid: 1500 }]
workDirectory: /home/user/site
setup: ['echo made by $(whoami) > note', { run: 'echo root > /etc/mark', user: root }]
memoryMb: 128
labels: { team: blue }
`);
  await writeFile(join(directory, 'agents/fixer.yaml'), `model: a/b\nsandbox: { template: ${name} }\n`);
  expect(await listed()).toMatchObject({ state: 'missing', image: await image(), containers: 0, agents: ['fixer'] });
  const parts = await createTestSandboxes();
  try {
    const { options } = await template();
    await expect(parts.sandboxes.open(parts.newOwner(), { ...options })).rejects.toThrow(
      `The image of template "${name}" is not on host "test-host" (${await image()}). Build it there: longshore template build ${name}`,
    );
    const built = await line('build', name);
    expect(built).toMatchObject({ code: 0, err: '' });
    expect(built.out).toMatch(new RegExp(`^building ${await image()}\n[^]*\n${name}: built \\(${await image()}\\)\\.\n$`));
    expect(await line('build', name)).toEqual({ code: 0, err: '', out: `${name}: is built (${await image()}).\n` });

    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, options);
    expect(await output(handle, 'pwd; cat ../note /etc/mark; id -un; id -u builder')).toBe('/home/user/site\nmade by user\nroot\nuser\n1500');
    expect((await handle.runCode('import os; os.getcwd()', { language: 'python' })).values).toEqual([{ 'text/plain': "'/home/user/site'" }]);
    const { Config, HostConfig } = await parts.docker.getContainer(parts.containerName(owner.sandboxId)).inspect();
    expect([Config.Labels['longshore.label.team'], HostConfig.Memory]).toEqual(['blue', 128 * 1024 * 1024]);

    expect(await listed()).toMatchObject({ state: 'built', containers: 1 });
    expect((await line('ls')).out).toMatch(new RegExp(`^TEMPLATE +STATE +SIZE +POOL +CONTAINERS +AGENTS\n[^]*${name} +built +\\d+ MB +0 +1 +fixer$`, 'm'));
    expect(await line('rm', name)).toMatchObject({ code: 1, err: expect.stringContaining(`is in use by ${parts.containerName(owner.sandboxId)}.`) as string });
    const first = await image();
    await write('setup: [echo 2 > note]\n');
    expect(await listed()).toMatchObject({ state: 'stale' });
    await line('build', name);
    const exists = async (which: string) => (await runCommand('docker', ['image', 'inspect', which])).code === 0;
    expect(await exists(first)).toBe(true);
    await runCommand('docker', ['rm', '--force', parts.containerName(owner.sandboxId)]);
    await write('setup: [echo 3 > note]\n');
    const second = (await listed()) && (await image());
    await line('build', name);
    expect([await exists(first), await exists(second!)]).toEqual([false, true]);
    // Its container and its image are gone; its files are not.
    await handle.run('true').catch(() => parts.sandboxes.reap());
    const again = await parts.sandboxes.open(owner, options);
    expect(await output(again.handle, 'cat ../note; ls /etc/mark || true')).toBe('made by user');
    await parts.sandboxes.destroy(owner.sandboxId);
    expect(await line('rm', name)).toEqual({ code: 0, err: '', out: `${name}: removed ${second}.\n` });
    expect(await line('rm', name)).toEqual({ code: 0, err: '', out: `${name}: has no image here.\n` });
  } finally {
    await parts[Symbol.asyncDispose]();
  }
}, 300_000);

test('commands, code and terminals run as any user that the template declares, at home in a directory of their own, and as no other user', async () => {
  await write(`users: [database, { name: web, uid: 1500 }]
setup: [{ run: 'pwd > ~/note; chmod 700 ~', user: database }]
workDirectory: /home/user/site
diskMb: 64
`);
  expect(await line('build', name)).toMatchObject({ code: 0, err: '' });
  const parts = await createTestSandboxes();
  try {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, (await template()).options);
    const as = async (user: string, command: string) => {
      const { stdout, stderr } = await handle.run(command, { user });
      return (stdout.text + stderr.text).trimEnd();
    };
    const facts = 'id -un; id -G | wc -w; pwd; echo $HOME $USER; grep -E "^(CapEff|NoNewPrivs)" /proc/self/status | tr "\\n" " "';
    const rights = 'CapEff:\t0000000000000000 NoNewPrivs:\t1';
    expect(await as('database', facts)).toBe(`database\n1\n/home/database\n/home/database database\n${rights}`);
    expect(await as('web', `${facts}; id -u`)).toBe(`web\n1\n/home/web\n/home/web web\n${rights} 1500`);
    expect(await as('user', 'pwd; cat /home/database/note')).toBe('/home/user/site\ncat: /home/database/note: Permission denied');
    expect(await as('database', 'cat note')).toBe('/home/database');

    const code = async (user?: string) => {
      const { values } = await handle.runCode('n = globals().get("n", 0) + 1\nimport getpass, os\n(n, getpass.getuser(), os.getcwd())', {
        language: 'python',
        contextId: 'one',
        ...(user !== undefined && { user }),
      });
      return values[0]?.['text/plain'];
    };
    expect([await code('web'), await code(), await code('web')]).toEqual([
      "(1, 'web', '/home/web')",
      "(1, 'user', '/home/user/site')",
      "(2, 'web', '/home/web')",
    ]);
    await handle.restartCode({ language: 'python', contextId: 'one', user: 'web' });
    expect([await code('web'), await code()]).toEqual(["(1, 'web', '/home/web')", "(2, 'user', '/home/user/site')"]);
    const shown: Buffer[] = [];
    const pty = await handle.openPty({ command: 'id -un; pwd', user: 'database', onData: (chunk) => void shown.push(chunk) });
    await pty.ended;
    expect(Buffer.concat(shown).toString()).toBe('database\r\n/home/database\r\n');

    // Ended and counted like those of `user`, however well it hides what it writes.
    const { execId } = await handle.start('sleep 987', { user: 'web', timeoutMs: 0 });
    expect(await handle.kill(execId, 'SIGKILL')).toBe(true);
    const fill = 'mkdir closed; cd closed; exec 3> big; chmod 0 ../closed; head -c 400M /dev/zero >&3; sleep 60';
    expect(await handle.run(fill, { user: 'database', timeoutMs: 40_000 })).toMatchObject({ signal: 'SIGKILL', limit: 'disk' });

    await expect(handle.run('id', { user: 'nobody' })).rejects.toThrow(
      `Sandbox "${owner.sandboxId}" has no user "nobody" for commands, only user, database, web. Name it under users in the template`,
    );
    await expect(handle.runCode('1', { language: 'python', user: 'root' })).rejects.toThrow('Commands of a sandbox cannot run as root');
    expect((await handle.execs()).every(({ command }) => command !== 'id')).toBe(true);
  } finally {
    await parts[Symbol.asyncDispose]();
  }
}, 300_000);

test('a Dockerfile is built on the sandbox image; one that leaves it out is refused with what is missing', async () => {
  await writeFile(join(directory, 'templates/own/Dockerfile'), 'ARG BASE\nFROM ${BASE}\nCOPY hello /hello\nENTRYPOINT ["false"]\n');
  await writeFile(join(directory, 'templates/own/hello'), 'from a file');
  await write('dockerfile: own/Dockerfile\n');
  expect((await line('build', name)).code).toBe(0);
  const parts = await createTestSandboxes();
  try {
    const { handle } = await parts.sandboxes.open(parts.newOwner(), (await template()).options);
    expect(await output(handle, 'cat /hello')).toBe('from a file');
  } finally {
    await parts[Symbol.asyncDispose]();
  }
  await writeFile(join(directory, 'templates/own/Dockerfile'), 'ARG BASE\nFROM ${BASE}\nUSER root\nRUN rm -r /opt/longshore\n');
  expect(await line('build', name)).toMatchObject({
    code: expect.any(Number) as number,
    err: expect.stringContaining('cannot hold a sandbox, it lacks: supervisor. Begin a Dockerfile with ARG BASE and FROM ${BASE}') as string,
  });
});

test('an interrupted build leaves no directory and no container behind, and the next one is made', async () => {
  const mark = `mark-${name}`;
  const directories = async () => {
    const found = (await readdir(tmpdir())).filter((entry) => entry.startsWith('longshore-template-'));
    const definitions = await Promise.all(found.map((entry) => readFile(join(tmpdir(), entry, 'Dockerfile'), 'utf8').catch(() => '')));
    return definitions.filter((text) => text.includes(mark));
  };
  const containers = async () => (await runCommand('docker', ['ps', '--all', '--no-trunc', '--format', '{{.Command}}'])).stdout;
  const interrupt = new AbortController();
  try {
    await write(`setup: ['echo ${mark}-first', 'echo ${mark}-second && sleep 1000']\n`);
    const building = runLine(undefined, ['template', 'build', name], { interrupt: interrupt.signal });
    await until(async () => (await containers()).includes(`${mark}-second`), 'the second step runs');
    expect(await directories()).toHaveLength(1);
    interrupt.abort();
    expect(await building).toMatchObject({ code: 130, err: expect.stringMatching(/^Interrupted; /) as string });
    expect(await directories()).toEqual([]);
    await until(async () => !(await containers()).includes(mark), 'the containers of the build are gone');
    await write(`setup: ['echo ${mark}-first']\n`);
    expect((await line('build', name)).code).toBe(0);
  } finally {
    interrupt.abort();
  }
}, 120_000);

test('an unknown template is named with those that are known', async () => {
  const known = [...(await loadTemplates(join(directory, 'templates'))).keys()].join(', ');
  expect(await line('build', 'nobody')).toEqual({
    code: 2,
    out: '',
    err: `No template named "nobody". Known: ${known}. Put nobody.yaml into ${join(directory, 'templates')} or name one that exists.\n`,
  });
});
