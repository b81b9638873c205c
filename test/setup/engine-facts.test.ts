import { linesOfEngine } from '../../src/cli/machine/doctor.ts';
import { adviceFor } from '../../src/setup/docker-engine.ts';
import { inspectEngine, readEngineInfo } from '../../src/setup/engine-facts.ts';
import { sandboxImageState } from '../../src/setup/sandbox-image.ts';

type Info = Parameters<typeof readEngineInfo>[0];
const info = (change: Info): Info => ({
  ServerVersion: '27.1.0',
  OperatingSystem: 'Debian',
  Runtimes: { runc: {}, 'io.containerd.runc.v2': {} },
  ExperimentalBuild: false,
  CgroupVersion: '2',
  Driver: 'overlay2',
  DriverStatus: [['Backing Filesystem', 'extfs']],
  SecurityOptions: ['name=seccomp,profile=builtin', 'name=cgroupns'],
  ...change,
});
const linesOf = (given: Info) => linesOfEngine(readEngineInfo(given), 'current');
const levels = (given: Info) => Object.fromEntries(linesOf(given).map((line) => [line.name, line.ok]));

describe('what the doctor says of an engine', () => {
  test('an engine without extras works, and each thing it lacks is a warning with advice', () => {
    const lines = linesOf(info({}));
    expect(levels(info({}))).toEqual({ 'Docker engine': 'ok', Runtimes: 'warning', Checkpoint: 'warning', Cgroups: 'ok', 'Disk limit': 'warning' });
    expect(levels(info({ SecurityOptions: ['name=cgroupns'] }))).toMatchObject({ 'Disk limit': 'missing' });
    for (const line of lines) expect(line.todo !== undefined).toBe(line.ok !== 'ok');
  });

  test('an engine with gVisor, checkpoints and quotas has nothing to do', () => {
    const full = info({ Runtimes: { runc: {}, runsc: {} }, ExperimentalBuild: true, DriverStatus: [['Backing Filesystem', 'xfs']] });
    expect(new Set(Object.values(levels(full)))).toEqual(new Set(['ok']));
  });

  test('a gVisor that is registered by itself, or with the script of another version, works, and the line says how to make it fast', () => {
    const facts = readEngineInfo(info({ Runtimes: { runc: {}, runsc: { path: '/usr/bin/runsc' } } }));
    const line = (script: 'old' | 'other') => linesOfEngine(facts, script).find(({ name }) => name === 'Runtimes');
    const todo = 'Optional, so that sandboxes wake in half the time or less: longshore setup --gvisor, and restart the engine';
    expect(line('other')).toEqual({ name: 'Runtimes', ok: 'warning', found: "runc, runsc (runsc is /usr/bin/runsc, without Longshore's script)", todo });
    expect(line('old')).toMatchObject({ ok: 'warning', found: "runc, runsc (runsc is /usr/bin/runsc, with another version's script)", todo });
  });

  test('the names of shims are not runtimes', () => {
    expect(readEngineInfo(info({}))).toMatchObject({ runtimes: ['runc'] });
  });

  test('no engine is a missing one, and the line says why', async () => {
    const facts = await inspectEngine('unix:///nowhere/docker.sock');
    expect(facts).toEqual({ outcome: 'absent', problem: 'connect ENOENT /nowhere/docker.sock' });
    expect(linesOfEngine(facts, 'current')).toMatchObject([{ name: 'Docker engine', ok: 'missing', found: 'connect ENOENT /nowhere/docker.sock' }]);
  });

  test('an engine and its image are seen without the docker command, which a container does not have', async () => {
    const [path, host] = [process.env['PATH'], process.env['DOCKER_HOST']];
    process.env['PATH'] = '/nowhere';
    try {
      expect(await inspectEngine(host)).toMatchObject({ outcome: 'present' });
      expect(await sandboxImageState(process.env['LONGSHORE_TEST_IMAGE'] ?? '', host)).toBe('current');
    } finally {
      process.env['PATH'] = path;
    }
  });
});

describe('advice about an engine that does not start', () => {
  test.each([
    ['failed to start daemon: error initializing graphdriver: driver not supported', 'storage-driver'],
    ['failed to create NAT chain DOCKER: iptables failed', 'iptables'],
    ["Devices cgroup isn't mounted", 'privileged'],
    ['something else', '/some/log'],
  ])('%s', (log, advice) => {
    expect(adviceFor(log, '/some/log')).toContain(advice);
  });
});
