import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureRunsc, registerRunsc } from '../../src/setup/gvisor.ts';

const OURS = { script: '/opt/longshore-runsc', program: '/opt/runsc' };

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-gvisor-'));
  file = join(directory, 'docker', 'daemon.json');
});
afterEach(() => rm(directory, { recursive: true }));

const settings = async () => JSON.parse(await readFile(file, 'utf8')) as unknown;

describe('registering gVisor with the engine', () => {
  test('makes the settings where there are none, and changes nothing the second time', async () => {
    expect(await registerRunsc(OURS, file)).toBe(true);
    expect(await settings()).toEqual({
      experimental: true,
      runtimes: { runsc: { path: '/opt/longshore-runsc', runtimeArgs: ['--network=none', '--restore-spec-validation=warning'] } },
    });
    expect(await registerRunsc(OURS, file)).toBe(false);
  });

  test('keeps everything else that is set, and takes the place of the gVisor that was registered without the script', async () => {
    await registerRunsc(OURS, file);
    const before = { 'data-root': '/srv/docker', runtimes: { kata: { path: '/opt/kata' }, runsc: { path: '/opt/runsc', runtimeArgs: ['--debug'] } } };
    await writeFile(file, JSON.stringify(before));
    expect(await registerRunsc(OURS, file)).toBe(true);
    expect(await settings()).toEqual({
      'data-root': '/srv/docker',
      experimental: true,
      runtimes: {
        kata: { path: '/opt/kata' },
        runsc: { path: '/opt/longshore-runsc', runtimeArgs: ['--debug', '--network=none', '--restore-spec-validation=warning'] },
      },
    });
  });

  test('says what to do where the settings cannot be written', async () => {
    const problem = { code: 'SETUP_FAILED', message: expect.stringMatching(/it cannot be written \(.*\)\. Run this as root/) };
    await expect(registerRunsc(OURS, '/proc/daemon.json')).rejects.toMatchObject(problem);
  });

  test('leaves another runsc and a file that is not JSON alone, and says what to do', async () => {
    await registerRunsc({ script: '/usr/bin/longshore-runsc', program: '/usr/bin/runsc' }, file);
    const before = await settings();
    await expect(registerRunsc(OURS, file)).rejects.toMatchObject({ code: 'SETUP_FAILED', message: expect.stringContaining('/usr/bin/longshore-runsc') });
    expect(await settings()).toEqual(before);
    await writeFile(file, '{ "debug": true,, }');
    await expect(registerRunsc(OURS, file)).rejects.toMatchObject({ code: 'SETUP_FAILED', message: expect.stringContaining('not JSON') });
    expect(await readFile(file, 'utf8')).toBe('{ "debug": true,, }');
  });
});

describe('the program of gVisor', () => {
  const said: string[] = [];
  let builds: number;
  beforeEach(() => {
    builds = 0;
    said.length = 0;
  });
  const ensure = () =>
    ensureRunsc({
      home: directory,
      log: (line) => said.push(line),
      build: async (to) => writeFile(join(to, 'runsc'), `program ${(builds += 1)}`),
    });
  const program = () => join(directory, 'bin', 'runsc');

  test('is built once, and again when it is not what was built', async () => {
    expect(await ensure()).toEqual({ program: program(), built: true });
    expect(await ensure()).toEqual({ program: program(), built: false });
    await writeFile(program(), 'something else');
    expect(await ensure()).toEqual({ program: program(), built: true });
    expect(said).toContain(`${program()} is not what was built: its digest does not match, and is built again`);
    expect(await readFile(program(), 'utf8')).toBe('program 2');
  });

  test('is built again when it is of another version, or nothing says what it is', async () => {
    await ensure();
    const note = await readFile(`${program()}.sha256`, 'utf8');
    await writeFile(`${program()}.sha256`, note.replace(/@.*/, '@v0.0.0'));
    expect(await ensure()).toMatchObject({ built: true });
    await rm(`${program()}.sha256`);
    expect(await ensure()).toMatchObject({ built: true });
    expect(said.filter((line) => line.startsWith(program()))).toEqual([
      `${program()} is of another version, and is built again`,
      `${program()} has no digest beside it, and is built again`,
    ]);
    expect(await ensure()).toMatchObject({ built: false });
  });

  test('is not taken from a directory that others can write to', async () => {
    await mkdir(join(directory, 'bin'));
    await chmod(join(directory, 'bin'), 0o777);
    await expect(ensure()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(builds).toBe(0);
  });
});
