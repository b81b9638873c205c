import Docker from 'dockerode';
import { createBoundCheck, diskBound } from '../../../src/sandbox/engine/disk-bound.ts';
import { volumeLimit } from '../../../src/sandbox/engine/disk-limit.ts';
import { hasQuotas } from '../../../src/sandbox/engine/docker/volumes.ts';

test('the storage keeps volumes a little above the limit, where there is one and the storage can', async () => {
  const able = { hasQuotas: async () => true };
  expect(await volumeLimit(able, { diskMb: 2048 })).toBe(2112);
  expect(await volumeLimit(able, {})).toBe(10_304);
  expect(await volumeLimit(able, { diskMb: 0 })).toBeUndefined();
  expect(await volumeLimit({ hasQuotas: async () => false }, { diskMb: 2048 })).toBeUndefined();
});

test('whether it can is found out by making such a volume, which does not stay', async () => {
  const docker = new Docker();
  const probes = async () => (await docker.listVolumes()).Volumes.filter(({ Name }) => Name.startsWith('longshore-quota-probe-'));
  const made = await docker.createVolume({ Name: 'longshore-quota-probe-try', Driver: 'local', DriverOpts: { size: '1m' } }).catch(() => undefined);
  if (made) await docker.getVolume('longshore-quota-probe-try').remove();
  expect(await hasQuotas(docker)).toBe(made !== undefined);
  expect(await probes()).toEqual([]);
});

test('an engine that makes it has quotas, one that refuses has none, and one that cannot be reached says nothing', async () => {
  const removed: string[] = [];
  const fake = (createVolume: () => Promise<unknown>) =>
    ({ createVolume, getVolume: (name: string) => ({ remove: async () => void removed.push(name) }) }) as unknown as Docker;
  expect(await hasQuotas(fake(async () => ({})))).toBe(true);
  expect(removed).toEqual([expect.stringMatching(/^longshore-quota-probe-[0-9a-f]{12}$/)]);
  const refusal = Object.assign(new Error('quota size requested but no quota support'), { statusCode: 400 });
  expect(await hasQuotas(fake(() => Promise.reject(refusal)))).toBe(false);
  const away = Object.assign(new Error('connect ENOENT'), { code: 'ENOENT' });
  await expect(hasQuotas(fake(() => Promise.reject(away)))).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' });
});

test('what holds on an engine is told, and a host where nothing does is refused in production, with what to do', async () => {
  const engine = (quotas: boolean, seccomp: boolean) => ({
    hasQuotas: async () => quotas,
    facts: async () => ({ id: 'x', runtimes: [], dataDirectory: '/', seccomp }),
  });
  expect(await diskBound(engine(true, false))).toBe('volume');
  expect(await diskBound(engine(false, true))).toBe('watch');
  expect(await diskBound(engine(false, false))).toBe('none');
  await createBoundCheck(engine(false, false), 'development')();
  for (const good of [engine(true, false), engine(false, true)]) await createBoundCheck(good, 'production')();
  await expect(createBoundCheck(engine(false, false), 'production')()).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/no seccomp.*no quotas.*production.*xfs mounted with pquota/),
  });
});
