import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { siblings } from '../../../../src/plugins/isolates/fence/sibling.ts';
import type { PluginContainer, PluginContainers } from '../../../../src/sandbox/engine/docker/plugin-containers.ts';
import { deferred } from '../../../../src/common/deferred.ts';

const onLinux = process.platform === 'linux' && process.arch === 'x64' ? test : test.skip;

onLinux('a container that is removed while it starts is closed, though its stream ends before its removal is answered', async () => {
  const starting = deferred<PluginContainer>();
  const [sibling] = await siblings('/usr/bin/perl', { start: () => starting.promise } as unknown as PluginContainers);
  const child = sibling!.start(['node']);
  const closed = new Promise((resolve) => child.once('close', (...how) => resolve(how)));
  child.kill();
  const stream = new PassThrough();
  const ended = deferred<number>();
  starting.resolve({
    stream,
    split: (stdout) => void stream.on('data', (chunk) => stdout.write(chunk)),
    ended: ended.promise,
    async kill() {
      ended.resolve(137);
      stream.destroy();
      await once(stream, 'close');
      await new Promise(setImmediate);
    },
  });
  expect(await closed).toEqual([null, 'SIGKILL']);
});
