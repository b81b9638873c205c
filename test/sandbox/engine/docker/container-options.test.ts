import type { ContainerSpec } from '../../../../src/sandbox/engine/engine.ts';
import { containerOptions } from '../../../../src/sandbox/engine/docker/container-options.ts';

const spec: ContainerSpec = {
  name: 'inst-sbx_1',
  image: 'longshore-sandbox:latest',
  volumeName: 'inst-sbx_1',
  labels: { 'longshore.installation': 'inst' },
  memoryMb: 512,
  cpus: 1.5,
  pids: 100,
  readOnlyRoot: true,
  runtime: { name: 'runc' },
};

describe('the definition of a container', () => {
  test('drops all capabilities but those of the supervisor, and gives no other privilege', () => {
    const { HostConfig, User } = containerOptions(spec);
    expect(User).toBe('0:0');
    expect(HostConfig).toMatchObject({
      CapDrop: ['ALL'],
      CapAdd: ['SETUID', 'SETGID', 'KILL', 'CHOWN'],
      SecurityOpt: ['no-new-privileges:true', expect.stringMatching(/^seccomp=\{"defaultAction":"SCMP_ACT_ERRNO"/)],
      Privileged: false,
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      IpcMode: 'private',
      Init: true,
      RestartPolicy: { Name: 'no' },
    });
  });

  test('keeps the volume to a size where the storage can', () => {
    const optionsOf = (given: ContainerSpec) => containerOptions(given).HostConfig?.Mounts?.[0]?.VolumeOptions?.DriverConfig;
    expect(optionsOf(spec)).toEqual({ Name: 'local', Options: {} });
    expect(optionsOf({ ...spec, volumeMb: 2112 })).toEqual({ Name: 'local', Options: { size: '2112m' } });
  });

  test('limits memory without swap, processors, processes and files', () => {
    const { HostConfig } = containerOptions(spec);
    expect(HostConfig).toMatchObject({ Memory: 512 * 2 ** 20, MemorySwap: 512 * 2 ** 20, NanoCpus: 1.5e9, PidsLimit: 100 });
    expect(HostConfig?.Ulimits).toEqual([
      { Name: 'nofile', Soft: 4096, Hard: 8192 },
      { Name: 'core', Soft: 0, Hard: 0 },
    ]);
  });

  test('allows gVisor the threads that it needs for so many processes, and no more than the kernel takes', () => {
    const limitOf = (pids: number) => containerOptions({ ...spec, pids, runtime: { name: 'runsc', holder: 'abc' } }).HostConfig?.PidsLimit;
    expect([limitOf(100), limitOf(4_194_304)]).toEqual([528, 4_194_304]);
  });

  test('the first stream to the supervisor ends with who attached, and what goes over it is not logged; gVisor has none', () => {
    const { HostConfig, OpenStdin, StdinOnce } = containerOptions(spec);
    expect({ OpenStdin, StdinOnce, log: HostConfig?.LogConfig?.Type }).toEqual({ OpenStdin: true, StdinOnce: true, log: 'none' });
    const gvisor = containerOptions({ ...spec, runtime: { name: 'runsc', holder: 'abc' } });
    expect(gvisor.OpenStdin).toBe(false);
    expect(gvisor.HostConfig?.LogConfig).toEqual({ Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } });
  });

  test('mounts one volume, two sized memory file systems and nothing of the host', () => {
    const { HostConfig } = containerOptions(spec);
    expect(HostConfig?.Binds).toBeUndefined();
    expect(HostConfig?.Mounts?.map(({ Type, Source, Target }) => ({ Type, Source, Target }))).toEqual([
      { Type: 'volume', Source: 'inst-sbx_1', Target: '/home' },
    ]);
    expect(Object.keys(HostConfig?.Tmpfs ?? {})).toEqual(['/tmp', '/run']);
    for (const options of Object.values(HostConfig?.Tmpfs ?? {})) expect(options).toMatch(/nosuid,nodev,size=\d+m/);
  });

  test('takes only the known settings from what it is given', () => {
    const hostile = { ...spec, HostConfig: { Privileged: true, Binds: ['/:/host'] }, Privileged: true, Env: ['A=b'], Cmd: ['sh'], Binds: ['/:/host'] };
    expect(containerOptions(hostile)).toEqual(containerOptions(spec));
    expect(containerOptions(spec)).not.toHaveProperty('Env');
    expect(containerOptions(spec)).not.toHaveProperty('Cmd');
  });
});
