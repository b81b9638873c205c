import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerRunsc } from '../../src/dev/gvisor.ts';

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
