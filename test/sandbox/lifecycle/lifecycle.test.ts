import { loadConfig } from '../../../src/platform/config.ts';
import { newConversation } from '../../store/support.ts';
import { createTestSandboxes, output, until, type TestSandboxes } from './support.ts';

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

const state = async (sandboxId: string) => (await parts.docker.getContainer(parts.containerName(sandboxId)).inspect()).State;

describe('opening', () => {
  test('ten callers in two workers get one container', async () => {
    const owner = parts.newOwner();
    const second = parts.another();
    const opened = await Promise.all(Array.from({ length: 10 }, (_, index) => (index % 2 ? parts.sandboxes : second).open(owner, {})));
    const names = await Promise.all(opened.map(({ handle }) => output(handle, 'cat /proc/sys/kernel/random/boot_id; stat -c %Y /proc/1')));
    expect(new Set(names).size).toBe(1);
    expect(opened.map(({ lost }) => lost)).toEqual(Array.from({ length: 10 }, () => undefined));
    const containers = await parts.docker.listContainers({
      all: true,
      filters: { label: [`longshore.sandbox=${owner.sandboxId}`, `longshore.installation=${parts.installation}`] },
    });
    expect(containers).toHaveLength(1);
    expect(await parts.store.sandboxes.get(owner.sandboxId)).toMatchObject({ state: 'running', generation: expect.any(Number) });
  });

  test('an attempt that died after the create is taken over', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.writeFile('/home/user/kept', 'yes');
    const row = (await parts.store.sandboxes.get(owner.sandboxId))!;
    // What a worker leaves that was killed between the engine's answer and its own note of it.
    await parts.store.sandboxes.change(owner.sandboxId, row.generation, { state: 'creating' });
    await parts.docker.getContainer(parts.containerName(owner.sandboxId)).stop({ t: 0 });
    const second = await parts.another().open(owner, {});
    expect(await output(second.handle, 'cat kept')).toBe('yes');
  });

  test('a container of that name which is not ours is not taken over', async () => {
    const owner = parts.newOwner();
    const { id } = await parts.docker.createContainer({
      name: parts.containerName(owner.sandboxId),
      Image: process.env['LONGSHORE_SANDBOX_IMAGE'] ?? 'longshore-sandbox:latest',
    });
    try {
      await expect(parts.sandboxes.open(owner, {})).rejects.toMatchObject({ code: 'DOCKER_FAILED', message: expect.stringContaining('not of this sandbox') });
    } finally {
      await parts.docker.getContainer(id).remove({ force: true });
    }
  });

  test('a missing image is named', async () => {
    await expect(parts.sandboxes.open(parts.newOwner(), { image: 'no-such-image:1' })).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' });
  });

  test('an id that is no name is refused', async () => {
    await expect(parts.sandboxes.open({ sandboxId: '../x', tenantId: 't' }, {})).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('a sandbox of another host is not touched', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, {});
    const elsewhere = parts.another({ config: { ...loadConfig(), LONGSHORE_INSTALLATION: parts.installation, LONGSHORE_HOST_ID: 'other-host' } });
    await expect(elsewhere.open(owner, {})).rejects.toMatchObject({ code: 'SANDBOX_UNREACHABLE', message: expect.stringContaining('test-host') });
    expect(await elsewhere.reap()).toEqual({ removedContainers: [], removedVolumes: [], lost: [] });
  });

  test('the files of a fresh sandbox are those of the image', async () => {
    const { handle } = await parts.sandboxes.open(parts.newOwner(), {});
    expect(await output(handle, 'pwd; stat -c "%u %a" /home/user /home/.longshore')).toMatch(/^\/home\/user\n1000 \d+\n0 755$/);
  });
});

describe('freezing', () => {
  test('a command frozen in the middle goes on after the thaw', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    let seen = '';
    const running = handle.run('mkfifo gate; echo begun; read line < gate; echo ended $line', { onStdout: (chunk) => (seen += chunk.toString()) });
    await until(async () => seen.includes('begun'), 'the command has begun');
    expect(await parts.sandboxes.freeze(owner.sandboxId, { mode: 'pause' })).toBe('frozen');
    expect(await state(owner.sandboxId)).toMatchObject({ Paused: true });
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('frozen');
    expect(await parts.sandboxes.wake(owner.sandboxId)).toBe('running');
    await handle.run('echo well > gate');
    expect(await running).toMatchObject({ status: 'exited', exitCode: 0, stdout: { text: 'begun\nended well\n' } });
  });

  test('an operation wakes a frozen sandbox, also when another worker froze it', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await parts.sandboxes.freeze(owner.sandboxId);
    expect(await output(handle, 'echo one')).toBe('one');
    await parts.another().freeze(owner.sandboxId);
    expect(await state(owner.sandboxId)).toMatchObject({ Paused: true });
    expect(await output(handle, 'echo two')).toBe('two');
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('running');
  });

  test('ten callers that wake it at once all succeed, and one change is made', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, {});
    await parts.sandboxes.freeze(owner.sandboxId);
    const before = (await parts.store.sandboxes.get(owner.sandboxId))!;
    const workers = [parts.sandboxes, parts.another(), parts.another()];
    const tiers = await Promise.all(Array.from({ length: 10 }, (_, index) => workers[index % 3]!.wake(owner.sandboxId)));
    expect(tiers).toEqual(Array.from({ length: 10 }, () => 'running'));
    expect(await parts.store.sandboxes.get(owner.sandboxId)).toMatchObject({ state: 'running', generation: before.generation + 1 });
    expect(await state(owner.sandboxId)).toMatchObject({ Paused: false, Running: true });
  });

  test('freezes and wakes that race end in what the row says', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, {});
    const other = parts.another();
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([
        parts.sandboxes.freeze(owner.sandboxId),
        other.wake(owner.sandboxId),
        other.freeze(owner.sandboxId),
        parts.sandboxes.wake(owner.sandboxId),
      ]);
      const row = await parts.store.sandboxes.get(owner.sandboxId);
      expect({ state: row?.state, paused: (await state(owner.sandboxId)).Paused }).toEqual({ state: row?.state, paused: row?.state === 'frozen' });
    }
    const { handle } = await parts.sandboxes.open(owner, {});
    expect(await output(handle, 'echo alive')).toBe('alive');
  });

  test('freezing twice is freezing once', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, {});
    expect(await parts.sandboxes.freeze(owner.sandboxId)).toBe('frozen');
    expect(await parts.sandboxes.freeze(owner.sandboxId)).toBe('frozen');
  });

  test('a container thawed or frozen behind our back is told as it is and brought back by an open', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, {});
    await parts.docker.getContainer(parts.containerName(owner.sandboxId)).pause();
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('frozen');
    const { handle } = await parts.sandboxes.open(owner, {});
    expect(await output(handle, 'echo alive')).toBe('alive');
  });
});

describe('stopping', () => {
  test('files stay, and an open or an operation starts it again', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await handle.writeFile('/home/user/kept', 'yes');
    expect(await parts.sandboxes.stop(owner.sandboxId)).toBe('stopped');
    expect(await state(owner.sandboxId)).toMatchObject({ Running: false });
    expect(await parts.sandboxes.stop(owner.sandboxId)).toBe('stopped');
    expect(await parts.sandboxes.freeze(owner.sandboxId)).toBe('stopped');

    expect(await output(handle, 'cat kept')).toBe('yes');
    await parts.sandboxes.freeze(owner.sandboxId);
    expect(await parts.sandboxes.stop(owner.sandboxId)).toBe('stopped');
    const opened = await parts.sandboxes.open(owner, {});
    expect(opened.lost).toBeUndefined();
    expect(await output(opened.handle, 'cat kept')).toBe('yes');
  });

  test.each(['by us', 'by the engine'])(
    '%s loses the commands that run, which is told once; what had ended or was killed before stays as it was',
    async (who) => {
      const conversationId = await newConversation(parts.store);
      await parts.store.transcript.append(conversationId, 'turn_1', 'step_1', 'message', { role: 'user', content: [] });
      const owner = { ...parts.newOwner(), conversationId };
      const { handle } = await parts.sandboxes.open(owner, {});
      const stop = () => (who === 'by us' ? parts.sandboxes.stop(owner.sandboxId) : parts.docker.getContainer(parts.containerName(owner.sandboxId)).stop());
      const notes = async () => (await parts.store.transcript.read(conversationId)).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
      await handle.run('exit 3', { execId: 'call_ended' });
      await handle.start('sleep 1000', { execId: 'call_killed', timeoutMs: 0 });
      await handle.kill('call_killed', 'SIGKILL');
      await handle.start('sleep 1000', { execId: 'call_background', timeoutMs: 0 });
      await handle.runCode('n = 1', { execId: 'call_code', language: 'python', contextId: 'one' });
      await stop();
      // The owner of a handle wakes a stopped sandbox without knowing it; a dead container needs a new open.
      const awake = who === 'by us' ? handle : (await parts.sandboxes.open(owner, {})).handle;
      expect(await awake.execs()).toMatchObject([
        { execId: 'call_background', state: 'lost' },
        { execId: 'call_code', state: 'ended', result: { exitCode: 0 } },
        { execId: 'call_ended', state: 'ended', result: { exitCode: 3 } },
        { execId: 'call_killed', state: 'ended', result: { status: 'killed' } },
        { execId: 'code-python-one', state: 'lost' },
      ]);
      await expect(awake.attach('call_background')).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
      const cause = who === 'by us' ? 'it was stopped' : 'its container ended by itself (exit code 0)';
      const first = `The sandbox was started anew: ${cause}. The files under /home are kept; /tmp is empty. Cut off while running, with unknown effect, and not run again: \`sleep 1000\` (call_background). Code contexts whose variables are gone: "one" (python).`;
      expect(await notes()).toEqual([first]);
      await awake.start('sleep 1000', { execId: 'call_second', timeoutMs: 0 });
      await stop();
      const { lost } = await parts.sandboxes.open(owner, {});
      expect(lost).toContain('not run again: `sleep 1000` (call_second).');
      expect(lost).not.toContain('call_background');
      expect(await notes()).toEqual([first, lost]);
    },
  );
});

describe('destroying', () => {
  test('leaves neither container nor volume, and the sandbox cannot be opened again', async () => {
    const owner = parts.newOwner();
    const { handle } = await parts.sandboxes.open(owner, {});
    await parts.sandboxes.destroy(owner.sandboxId);
    await expect(state(owner.sandboxId)).rejects.toMatchObject({ statusCode: 404 });
    await expect(parts.docker.getVolume(parts.containerName(owner.sandboxId)).inspect()).rejects.toMatchObject({ statusCode: 404 });
    await expect(handle.run('true')).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
    await expect(parts.sandboxes.open(owner, {})).rejects.toMatchObject({ code: 'SANDBOX_DESTROYED' });
    expect(await parts.sandboxes.tier(owner.sandboxId)).toBe('destroyed');
  });

  test('may be repeated, also for a sandbox that never was', async () => {
    const owner = parts.newOwner();
    await parts.sandboxes.destroy(owner.sandboxId);
    await parts.sandboxes.open(owner, {});
    await parts.sandboxes.destroy(owner.sandboxId);
    await parts.sandboxes.destroy(owner.sandboxId);
  });

  test('while another worker opens it leaves nothing', async () => {
    const owner = parts.newOwner();
    const opening = parts
      .another()
      .open(owner, {})
      .catch((error: unknown) => error);
    await until(async () => (await parts.store.sandboxes.get(owner.sandboxId)) !== undefined, 'the row is there');
    await parts.sandboxes.destroy(owner.sandboxId);
    expect(await opening).toMatchObject({ code: 'SANDBOX_DESTROYED' });
    const label = [`longshore.sandbox=${owner.sandboxId}`, `longshore.installation=${parts.installation}`];
    expect(await parts.docker.listContainers({ all: true, filters: { label } })).toEqual([]);
    expect((await parts.docker.listVolumes({ filters: { label } })).Volumes).toEqual([]);
  });
});

describe('bridges', () => {
  const bridges = async (sandboxId: string) => {
    const { Processes } = await parts.docker.getContainer(parts.containerName(sandboxId)).top();
    return (Processes as string[][]).filter((row) => row.at(-1)?.startsWith('socat')).length;
  };

  test('who made the container speaks over its own streams; everybody else, and who comes back, has a bridge', async () => {
    const owner = parts.newOwner();
    const [maker, visitor] = [parts.another(), parts.another()];
    const made = await maker.open(owner, {});
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 256));
    await made.handle.writeFile('/home/user/bytes', bytes);
    expect(bytes.equals(await made.handle.readFile('/home/user/bytes'))).toBe(true);
    expect(await bridges(owner.sandboxId)).toBe(0);

    const met = await visitor.open(owner, {});
    const one = await output(met.handle, 'mkfifo gate; echo one');
    const running = met.handle.run('cat gate');
    expect({ one, bridges: await bridges(owner.sandboxId) }).toEqual({ one: 'one', bridges: 1 });
    await maker[Symbol.asyncDispose]();
    const back = await parts.another().open(owner, {});
    expect(await output(back.handle, 'echo two > gate; echo three')).toBe('three');
    expect((await running).stdout.text).toBe('two\n');
  });

  test('a closed connection leaves no process in the container, and open ones do not pile up', async () => {
    const owner = parts.newOwner();
    const worker = parts.another();
    const { handle } = await worker.open(owner, {});
    for (let round = 0; round < 3; round += 1) {
      await worker.freeze(owner.sandboxId);
      await handle.run('true');
    }
    await until(async () => (await bridges(owner.sandboxId)) === 1, 'one bridge');
    await worker[Symbol.asyncDispose]();
    await until(async () => (await bridges(owner.sandboxId)) === 0, 'no bridge');
  });
});
