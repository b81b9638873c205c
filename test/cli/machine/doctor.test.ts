import { runDoctor, nodeLine } from '../../../src/cli/machine/doctor.ts';
import { loadConfig } from '../../../src/platform/config.ts';

const config = loadConfig();

describe('the doctor', () => {
  test('on a machine that runs these tests nothing is missing', async () => {
    const lines = await runDoctor(config);
    expect(lines.filter((line) => line.ok === 'missing')).toEqual([]);
    // Of the kernel's limits it is said only where they are low.
    expect(lines.map((line) => line.name).filter((name) => name !== 'Kernel limits')).toEqual([
      'Node',
      'Docker engine',
      'Runtimes',
      'Checkpoint',
      'Cgroups',
      'Disk limit',
      'Sandbox image',
      'Temporal',
      'Search attributes',
      'Encryption keys',
      'Updates',
      'Payload limits',
      'Retention',
      'Postgres',
      'Blob store',
      'Plugin fence',
      'HTTP service',
      'Public address',
      'Metrics',
    ]);
    expect(lines.find((line) => line.name === 'Plugin fence')?.found).toMatch(/^level [ABC] \(.*Node's permission model/);
    expect(lines.find((line) => line.name === 'Temporal')).toMatchObject({ ok: 'ok' });
    expect(lines.find((line) => line.name === 'Postgres')).toMatchObject({ ok: 'ok' });
  });

  test('the local backend is warned of, loudly', async () => {
    const lines = await runDoctor({ ...config, LONGSHORE_SANDBOX_BACKEND: 'local' });
    expect(lines.find((line) => line.name === 'Sandbox backend')).toMatchObject({ ok: 'warning', found: expect.stringContaining('for development only') });
  });

  test('servers that do not answer are found out, and the line says what to do', async () => {
    const lines = await runDoctor({ ...config, TEMPORAL_ADDRESS: '127.0.0.1:1', DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none' });
    for (const name of ['Temporal', 'Postgres']) {
      const line = lines.find((candidate) => candidate.name === name);
      expect(line?.ok).toBe('warning');
      expect(line?.todo).toContain('longshore dev');
    }
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  test.each([
    ['18.20.0', 'missing'],
    ['20.18.3', 'missing'],
    ['20.19.0', 'ok'],
    ['24.1.0', 'ok'],
  ] as const)('Node %s is %s', (version, ok) => {
    expect(nodeLine(version).ok).toBe(ok);
  });
});
