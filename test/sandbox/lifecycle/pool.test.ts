import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SandboxOptions } from '../../../src/contracts/agent.ts';
import { openSandbox } from '../../../src/sdk/open-sandbox.ts';
import type { SandboxOwner } from '../../../src/sandbox/api/sandbox.ts';
import type { SandboxRow } from '../../../src/store/sandbox-rows.ts';
import { loadTemplates } from '../../../src/definitions/templates/load-templates.ts';
import { createTestSandboxes, output, until, type TestSandboxes } from './support.ts';

const OPTIONS: SandboxOptions = { memoryMb: 256 };
const pool = { name: 'small', options: OPTIONS, size: 1 };

let parts: TestSandboxes;
let count = 0;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

function newConversation(): SandboxOwner & { conversationId: string } {
  const conversationId = `conv_pool_${(count += 1)}`;
  return { sandboxId: `sbx_pool_${count}`, conversationId, tenantId: 'tenant' };
}

const waiting = () => parts.store.sandboxes.list({ states: ['warm'] });
async function untilWarm(number: number): Promise<SandboxRow[]> {
  let rows: SandboxRow[] = [];
  await until(async () => (rows = await waiting()).length === number, `${number} warm sandboxes`);
  return rows;
}
const containers = async () =>
  (await parts.docker.listContainers({ all: true, filters: { label: [`longshore.installation=${parts.installation}`] } })).map(({ Names }) =>
    Names[0]?.slice(1),
  );
const idOf = (row: SandboxRow | undefined) => row?.sandboxId ?? 'none';

test('a conversation whose agent has files for its sandbox takes a warm one: they are uploaded when it has it', async () => {
  await using _kept = parts.sandboxes.keepWarm!([pool]);
  const [warm] = await untilWarm(1);
  const assets = [{ from: '/etc/hostname', to: '/home/user/name' }];
  const { handle } = await parts.sandboxes.open(newConversation(), { ...OPTIONS, assets });
  expect(handle.sandboxId).toBe(idOf(warm));
  await parts.sandboxes.destroy(handle.sandboxId);
});

test('of two workers that want the one warm sandbox one gets it, the other makes its own, and the pool is filled again', async () => {
  const second = parts.another();
  await using _first = parts.sandboxes.keepWarm!([pool]);
  await using _second = second.keepWarm!([pool]);
  const [warm] = await untilWarm(1);
  const owners = [newConversation(), newConversation()] as const;
  const opened = await Promise.all([parts.sandboxes.open(owners[0], OPTIONS), second.open(owners[1], { ...OPTIONS, freezeAfterMs: 5 })]);
  const ids = opened.map(({ handle }) => handle.sandboxId);
  expect(ids).toContain(idOf(warm));
  expect(new Set(ids).size).toBe(2);
  for (const [index, { handle, lost }] of opened.entries()) {
    expect(lost).toBeUndefined();
    expect(await output(handle, `echo ${index} > mark; cat mark`)).toBe(String(index));
    expect(await parts.store.sandboxes.ofConversation(owners[index]!.conversationId)).toMatchObject({
      sandboxId: handle.sandboxId,
      state: 'running',
      tenantId: 'tenant',
    });
  }
  expect(idOf((await untilWarm(1))[0])).not.toBe(idOf(warm));
  // Opened again by another worker, it is the same one.
  const again = await second.open(owners[0], OPTIONS);
  expect(again.handle.sandboxId).toBe(opened[0].handle.sandboxId);
  expect(await output(again.handle, 'cat mark')).toBe('0');
  for (const id of ids) await parts.sandboxes.destroy(id);
});

test('ten openings of one conversation take one warm sandbox', async () => {
  await using _kept = parts.sandboxes.keepWarm!([{ ...pool, size: 2 }]);
  await untilWarm(2);
  const owner = newConversation();
  const opened = await Promise.all(Array.from({ length: 10 }, () => parts.sandboxes.open(owner, OPTIONS)));
  expect(new Set(opened.map(({ handle }) => handle.sandboxId)).size).toBe(1);
  await untilWarm(2);
  expect(await containers()).toHaveLength(3);
  await parts.sandboxes.destroy(opened[0]!.handle.sandboxId);
});

test('a claim whose worker died is found by the next opening, and so is a warm sandbox that had died: its container is started anew', async () => {
  const worker = parts.another();
  await using _kept = worker.keepWarm!([pool]);
  const [warm] = await untilWarm(1);
  const owner = newConversation();
  const place = { hostId: warm!.hostId, key: warm!.pool!.key, preferred: [] };
  expect(await parts.store.pools.claim(place, { ...owner, options: { ...OPTIONS } })).toMatchObject({ sandboxId: warm?.sandboxId, state: 'creating' });
  await parts.docker.getContainer(warm!.containerName).kill();
  expect(await parts.store.pools.claim(place, { ...owner, options: {} })).toBeUndefined();
  const { handle, lost } = await parts.another().open(owner, OPTIONS);
  expect([handle.sandboxId, lost]).toEqual([warm?.sandboxId, undefined]);
  expect(await output(handle, 'echo works')).toBe('works');
  await parts.sandboxes.destroy(handle.sandboxId);
});

test('only what was asked for is given away, and only to conversations', async () => {
  await using _kept = parts.sandboxes.keepWarm!([pool]);
  const [warm] = await untilWarm(1);
  const other = await parts.sandboxes.open(newConversation(), { ...OPTIONS, pids: 99 });
  const plain = await parts.sandboxes.open(parts.newOwner(), OPTIONS);
  expect((await waiting()).map(idOf)).toEqual([idOf(warm)]);
  for (const { handle } of [other, plain]) await parts.sandboxes.destroy(handle.sandboxId);
});

test('without a conversation, too, a sandbox of a template is taken over, with a time to live, and one that has died is started anew', async () => {
  const before = { ...process.env };
  const templates = await mkdtemp(join(tmpdir(), 'longshore-templates-'));
  Object.assign(process.env, { LONGSHORE_TEMPLATES: templates, LONGSHORE_INSTALLATION: parts.installation, LONGSHORE_HOST_ID: 'test-host' });
  const open = (options: Parameters<typeof openSandbox>[0]) => openSandbox({ databaseUrl: parts.databaseUrl, ttlMs: 600_000, ...options });
  try {
    await writeFile(join(templates, 'small.yaml'), 'memoryMb: 256\nidle: { stop: 1h }\n');
    const { options } = (await loadTemplates(templates)).get('small')!;
    await using _kept = parts.sandboxes.keepWarm!([{ name: 'small', options, size: 1 }]);
    const [warm] = await untilWarm(1);
    await parts.docker.getContainer(warm!.containerName).kill();
    {
      await using taken = await open({ template: 'small', tenantId: 'mine' });
      expect(await output(taken, 'echo works')).toBe('works');
      expect([taken.sandboxId, taken.lost]).toEqual([warm?.sandboxId, undefined]);
      const row = await parts.store.sandboxes.get(taken.sandboxId);
      expect(row).toMatchObject({ state: 'running', tenantId: 'mine', options: { template: 'small', memoryMb: 256 } });
      expect(Date.parse(row?.expiresAt ?? '')).toBeGreaterThan(Date.now());
      expect(row).not.toHaveProperty('conversationId');
      // The pool is filled again when its worker looks; until then there is none to take.
      await using second = await open({ template: 'small' });
      expect(await output(second, 'echo works')).toBe('works');
      expect(second.sandboxId).not.toBe(warm?.sandboxId);
    }
    expect((await parts.store.sandboxes.get(idOf(warm)))?.state).toBe('destroyed');
    await using _again = parts.another().keepWarm!([{ name: 'small', options, size: 1 }]);
    const [next] = await untilWarm(1);
    await using bigger = await open({ template: 'small', memoryMb: 300 });
    expect((await waiting()).map(idOf)).toEqual([idOf(next)]);
    expect((await parts.store.sandboxes.get(bigger.sandboxId))?.options).toMatchObject({ memoryMb: 300 });
    await using taken = await open({ template: 'small' });
    expect(taken.sandboxId).toBe(idOf(next));
    await expect(open({ template: 'none' })).rejects.toThrow(`No template named "none". Known: small. Put none.yaml into ${templates}`);
  } finally {
    process.env = before;
    await rm(templates, { recursive: true });
  }
});

test('a warm sandbox that has died is replaced', async () => {
  await using _kept = parts.sandboxes.keepWarm!([pool]);
  const [warm] = await untilWarm(1);
  await parts.docker.getContainer(warm!.containerName).kill();
  // Any claim sets off the next round; this one is for a conversation whose sandbox is the dead one, started anew.
  const { handle } = await parts.sandboxes.open(newConversation(), OPTIONS);
  expect(handle.sandboxId).toBe(warm?.sandboxId);
  expect(await output(handle, 'echo works')).toBe('works');
  const [next] = await untilWarm(1);
  await parts.docker.getContainer(next!.containerName).kill();
  await using _another = parts.another().keepWarm!([pool]);
  await until(async () => !(await waiting()).map(idOf).includes(idOf(next)), 'the dead one is gone');
  await untilWarm(1);
  await parts.sandboxes.destroy(handle.sandboxId);
});

test('the last to leave drains the pool; what a killed worker kept is left to the reaper, which leaves alone what is kept', async () => {
  const first = parts.sandboxes.keepWarm!([pool]);
  const [warm] = await untilWarm(1);
  const place = { hostId: warm!.hostId, key: warm!.pool!.key };
  await parts.store.pools.own({ ownerId: 'another worker', ...place, size: 1, forMs: 60_000 });
  const owner = newConversation();
  const { handle } = await parts.sandboxes.open(owner, OPTIONS);
  const [next] = await untilWarm(1);
  expect(await parts.another({ reapGraceMs: 0 }).reap()).toEqual({ removedContainers: [], removedVolumes: [], lost: [] });
  await first[Symbol.asyncDispose]();
  expect((await waiting()).map(idOf)).toEqual([idOf(next)]);
  await parts.store.pools.leave('another worker', { butFor: [] });
  await parts.sandboxes.keepWarm!([])[Symbol.asyncDispose]();
  expect(await waiting()).toEqual([]);
  // What a killed worker leaves: a row and a container whose owner has expired.
  await parts.sandboxes.destroy(handle.sandboxId);
  expect(await containers()).toEqual([]);
  await parts.store.pools.own({ ownerId: 'killed', hostId: 'test-host', key: 'old', size: 1, forMs: 60_000 });
  const names = { containerName: parts.containerName('sbx_warm_old'), volumeName: parts.containerName('sbx_warm_old') };
  await parts.store.pools.add({ sandboxId: 'sbx_warm_old', hostId: 'test-host', ...names, options: {} }, { key: 'old', slot: 1 });
  await parts.sandboxes.reap();
  expect(await parts.store.pools.list('test-host', 'old')).toHaveLength(1);
  await parts.store.pools.own({ ownerId: 'killed', hostId: 'test-host', key: 'old', size: 1, forMs: -1 });
  await parts.sandboxes.reap();
  expect(await parts.store.pools.list('test-host', 'old')).toEqual([]);
});

test('templates whose sandboxes are alike share a pool of the size of both, of which no round removes any', async () => {
  const alike = { name: 'small-too', options: { ...OPTIONS, stopAfterMs: 3_600_000 }, size: 1 };
  await using _kept = parts.sandboxes.keepWarm!([{ ...pool, size: 2 }, alike]);
  const all = (await untilWarm(3)).map(idOf).toSorted();
  const { handle } = await parts.sandboxes.open(newConversation(), alike.options);
  expect(all).toContain(handle.sandboxId);
  // What was claimed is made again by a round, which keeps the others.
  const then = (await untilWarm(3)).map(idOf);
  expect(then.filter((id) => all.includes(id)).toSorted()).toEqual(all.filter((id) => id !== handle.sandboxId));
});
