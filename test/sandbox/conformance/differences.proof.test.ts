import type { CompareRequest, FileDifference } from '../../../src/sandbox/api/differences.ts';
import { BACKENDS, type Backend } from './backends.ts';

const MOST = 1_000_000;

describe.each(BACKENDS)('differences to a checkpoint on %s', (_name, open) => {
  let backend: Backend;
  beforeEach(async () => {
    backend = await open();
  });
  afterEach(async () => {
    await backend?.[Symbol.asyncDispose]();
  });
  const shell = (command: string) => backend.handle.run(command);
  async function compare(request: Omit<CompareRequest, 'mostBytes'>, mostBytes = MOST) {
    const found: FileDifference[] = [];
    const end = await backend.handle.compareCheckpoint({ ...request, mostBytes }, async (difference) => void found.push(difference));
    return { found, end };
  }
  const named = ({ found }: { found: FileDifference[] }) =>
    found.map(({ path, before, after }) => [
      path,
      before && `${before.type} ${before.content?.toString() ?? ''}`,
      after && `${after.type} ${after.content?.toString() ?? ''}`,
    ]);

  test('are files, rights, links and types, with their contents, in the order of their paths', async () => {
    await shell(
      'mkdir -p d kept; echo one > d/a; echo same > same; echo gone > gone; echo x > turns; ln -s same link; echo mode > mode; printf "\\0" > empty-not; : > empty',
    );
    const { checkpoint: from } = await backend.handle.createCheckpoint({ key: 'one', keep: 20 });
    expect((await compare({ from })).found).toEqual([]);
    await shell(
      'echo two > d/a; touch same; rm gone; rm turns; mkdir turns; ln -sfn d link; chmod 700 mode; echo new > "n \\"é\n"; echo raw > "$(printf "r\\377")"; mkdir bare; mkfifo pipe',
    );
    const changes = await compare({ from });
    expect(named(changes)).toEqual([
      ['bare', undefined, 'directory '],
      ['d/a', 'file one\n', 'file two\n'],
      ['gone', 'file gone\n', undefined],
      ['link', 'link ', 'link '],
      ['mode', 'file mode\n', 'file mode\n'],
      ['n "é\n', undefined, 'file new\n'],
      ['pipe', undefined, 'other '],
      ['r\udcff', undefined, 'file raw\n'],
      ['turns', 'file x\n', 'directory '],
    ]);
    expect(changes.found.find(({ path }) => path === 'mode')).toMatchObject({ after: { mode: 0o700, size: 5 } });
    expect(changes.found.find(({ path }) => path === 'bare')?.after).toMatchObject({ empty: true });
    expect(changes.found.find(({ path }) => path === 'link')).toMatchObject({ before: { target: 'same' }, after: { target: 'd' } });
    expect(changes.end).toMatchObject({ closed: 0 });
    expect(named(await compare({ from, paths: ['d', 'gone', 'no'] }))).toHaveLength(2);
    const large = await compare({ from, paths: ['d/a'] }, 3);
    expect(large.found[0]?.after).toEqual({ type: 'file', mode: 0o644, size: 4 });
  });

  test('of two checkpoints do not see what came later, and an unknown one is refused', async () => {
    await shell('echo one > a');
    const { checkpoint: from } = await backend.handle.createCheckpoint({ key: 'one', keep: 20 });
    await shell('echo two > a; echo b > b');
    const { checkpoint: to } = await backend.handle.createCheckpoint({ key: 'two', keep: 20 });
    await shell('echo three > a; rm b');
    const forth = await compare({ from, to });
    expect(named(forth)).toEqual([
      ['a', 'file one\n', 'file two\n'],
      ['b', undefined, 'file b\n'],
    ]);
    expect(forth.end.at).toBe(to.at);
    expect(named(await compare({ from: to, to: from }))).toEqual([
      ['a', 'file two\n', 'file one\n'],
      ['b', 'file b\n', undefined],
    ]);
    await expect(compare({ from: { ...from, number: 7 } })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
  });

  test('do not keep the next checkpoint waiting, however slowly they are read', async () => {
    await shell('for i in $(seq 40); do head -c 900000 /dev/urandom > f$i; done');
    const { checkpoint: from } = await backend.handle.createCheckpoint({ key: 'one', keep: 20 });
    await shell('for i in $(seq 40); do head -c 900000 /dev/urandom > f$i; done');
    let isMade = false;
    let count = 0;
    await backend.handle.compareCheckpoint({ from, mostBytes: MOST }, async ({ after }) => {
      count += after?.content?.length === 900_000 ? 1 : 0;
      if (isMade) return;
      await backend.handle.createCheckpoint({ key: 'two', keep: 20 });
      isMade = true;
    });
    expect({ isMade, count }).toEqual({ isMade: true, count: 40 });
  });
});
