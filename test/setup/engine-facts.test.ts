import { linesOfEngine } from '../../src/cli/machine/doctor.ts';
import { adviceFor } from '../../src/setup/docker-engine.ts';
import { readEngineInfo } from '../../src/setup/engine-facts.ts';

const info = (change: object) =>
  JSON.stringify({
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
const linesOf = (stdout: string, stderr = '') => linesOfEngine(readEngineInfo(stdout, stderr), 'current');
const levels = (stdout: string, stderr = '') => Object.fromEntries(linesOf(stdout, stderr).map((line) => [line.name, line.ok]));

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
    const facts = readEngineInfo(info({ Runtimes: { runc: {}, runsc: { path: '/usr/bin/runsc' } } }), '');
    const line = (script: 'old' | 'other') => linesOfEngine(facts, script).find(({ name }) => name === 'Runtimes');
    const todo = 'Optional, so that sandboxes wake in half the time or less: longshore setup --gvisor, and restart the engine';
    expect(line('other')).toEqual({ name: 'Runtimes', ok: 'warning', found: "runc, runsc (runsc is /usr/bin/runsc, without Longshore's script)", todo });
    expect(line('old')).toMatchObject({ ok: 'warning', found: "runc, runsc (runsc is /usr/bin/runsc, with another version's script)", todo });
  });

  test('the names of shims are not runtimes', () => {
    expect(readEngineInfo(info({}), '')).toMatchObject({ runtimes: ['runc'] });
  });

  test('no engine is a missing one, in its own words', () => {
    expect(linesOf(JSON.stringify({ ServerErrors: ['Cannot connect to the Docker daemon'] }))).toMatchObject([
      { ok: 'missing', found: 'Cannot connect to the Docker daemon' },
    ]);
    expect(levels('', 'docker: broken')).toEqual({ 'Docker engine': 'missing' });
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
