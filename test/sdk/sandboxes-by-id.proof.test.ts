import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sandboxes } from '../../src/sandbox.ts';
import type { SandboxHandle } from '../../src/sandbox/api/sandbox.ts';
import { output, until } from '../sandbox/lifecycle/support.ts';
import { open, useSandboxes, where } from './sandboxes.ts';

useSandboxes();

test('sandboxes are listed, looked at, put to rest and destroyed by their ids, each tenant its own', async () => {
  await using one = await open({ tenantId: 'listing', metadata: { name: 'one' } });
  await using two = await open({ tenantId: 'listing' });
  await using other = await open({ tenantId: 'another' });
  const mine = { ...where, tenantId: 'listing' };
  expect((await sandboxes.list(mine)).map(({ sandboxId }) => sandboxId)).toEqual([one.sandboxId, two.sandboxId]);
  expect(await sandboxes.get(one.sandboxId, mine).info()).toMatchObject({ metadata: { name: 'one' }, tier: 'running' });
  expect(await sandboxes.get(one.sandboxId, mine).stop()).toBe('stopped');
  expect(await sandboxes.list({ ...mine, tier: 'stopped' })).toMatchObject([{ sandboxId: one.sandboxId }]);
  await sandboxes.get(two.sandboxId, mine).destroy();
  await sandboxes.get(two.sandboxId, mine).destroy();
  await expect(two.run('true')).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  await expect(sandboxes.get(other.sandboxId, mine).destroy()).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  await expect(sandboxes.list({ tenant: 'x' } as object)).rejects.toThrow('sandboxes.list: there is no option "tenant". Did you mean tenantId?');
  expect(() => sandboxes.get(5 as unknown as string)).toThrow('sandboxes.get.sandboxId: 5 is not the id of a sandbox');
});

test('a sandbox is copied, restored and forked', async () => {
  await using sandbox = await open({ backend: 'docker' });
  await sandbox.writeFile('kept', 'yes');
  const { snapshotId } = await sandbox.snapshot({ name: 'first' });
  const there = { ...where, backend: 'docker' };
  expect(await sandboxes.snapshots({ ...there, sandboxId: sandbox.sandboxId })).toMatchObject([{ snapshotId, name: 'first' }]);
  await using restored = await sandboxes.restore(snapshotId, there);
  expect(await output(restored, 'cat kept')).toBe('yes');
  const [forkId = ''] = await sandboxes.get(sandbox.sandboxId, there).fork();
  await using forked = await open({ sandboxId: forkId, backend: 'docker' });
  expect(await output(forked, 'cat kept')).toBe('yes');
  expect((await forked.info()).expiresAt).toBeDefined();
  expect(await forked.metrics()).toMatchObject({ sandboxId: forkId, processes: expect.any(Number) as number });
  await sandboxes.removeSnapshot(snapshotId, there);
  await expect(sandboxes.removeSnapshot(snapshotId, there)).rejects.toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' });
});

describe('the hosts that a running sandbox may reach', () => {
  let server: Server;
  let port: number;
  beforeAll(async () => {
    server = createServer((_request, response) => response.end('from outside')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
    process.env['LONGSHORE_EGRESS_ADDRESSES'] = '127.0.0.1/32';
  });
  afterAll(async () => {
    delete process.env['LONGSHORE_EGRESS_ADDRESSES'];
    server.close();
    await once(server, 'close');
  });
  const ask = (sandbox: SandboxHandle) => output(sandbox, `curl -s http://127.0.0.1:${port}/ --proxy "$http_proxy" --noproxy "" || true`);
  const nothingListed = () => `Longshore egress: 127.0.0.1:${port}: this host is not on the list of the sandbox`;

  test('are changed over its handle', async () => {
    await using sandbox = await open({ backend: 'docker', egress: ['example.org'] });
    expect(await ask(sandbox)).toBe(nothingListed());
    await sandbox.setEgress([{ host: '127.0.0.1', ports: [port] }]);
    expect(await ask(sandbox)).toBe('from outside');
    expect((await sandbox.info()).egress).toEqual([{ host: '127.0.0.1', ports: [port] }]);
    await sandbox.setEgress([]);
    expect(await ask(sandbox)).toBe(nothingListed());
  });

  test('are changed by its id, and that holds for the handle of another process from the next connection on', async () => {
    await using sandbox = await open({ backend: 'docker', egress: [] });
    const there = { ...where, backend: 'docker' };
    expect(await ask(sandbox)).toBe(nothingListed());
    await sandboxes.get(sandbox.sandboxId, there).setEgress([{ host: '127.0.0.1', ports: [port] }]);
    expect(await ask(sandbox)).toBe('from outside');
    await sandboxes.get(sandbox.sandboxId, there).setEgress([]);
    expect(await ask(sandbox)).toBe(nothingListed());
    await expect(sandboxes.get(sandbox.sandboxId, there).setEgress(['a b'])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(sandboxes.get('sbx_none', there).setEgress([])).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  });

  test('are read again by one that had none when it was opened', async () => {
    await using sandbox = await open({ backend: 'docker' });
    await sandboxes.get(sandbox.sandboxId, { ...where, backend: 'docker' }).setEgress([{ host: '127.0.0.1', ports: [port] }]);
    await until(async () => (await ask(sandbox)) === 'from outside', 'the rules are read again');
  });
});

test('a sandbox is frozen, woken and archived by its id, also while a handle has it, and any use brings it back', async () => {
  await using sandbox = await open({ backend: 'docker' });
  const byId = sandboxes.get(sandbox.sandboxId, { ...where, backend: 'docker' });
  await sandbox.writeFile('kept', 'yes');
  expect(await byId.freeze()).toBe('frozen');
  expect(await byId.tier()).toBe('frozen');
  expect(await byId.wake()).toBe('running');
  expect(await byId.freeze({ mode: 'pause' })).toBe('frozen');
  expect(await output(sandbox, 'cat kept')).toBe('yes');
  expect(await byId.archive()).toBe('archived');
  expect(await byId.tier()).toBe('archived');
  expect(await output(sandbox, 'cat kept')).toBe('yes');
  await byId.destroy();
  await expect(byId.freeze()).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  await expect(byId.wake()).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  await expect(byId.archive()).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
  await expect(byId.setEgress([])).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
});
