import { chownSync, mkdirSync, symlinkSync } from 'node:fs';
import { LocalSupervisor } from '../local-supervisor.ts';

let supervisor: LocalSupervisor;
beforeAll(async () => {
  supervisor = await LocalSupervisor.start();
});
afterAll(() => supervisor[Symbol.asyncDispose]());

/** As long as a path can be, and each byte of a name takes six in a message. */
function makeLongestLinks(directory: string): void {
  mkdirSync(directory);
  chownSync(directory, supervisor.guest, supervisor.guest);
  let place = Buffer.from(directory);
  const join = (name: Buffer) => Buffer.concat([place, Buffer.from('/'), name]);
  while (place.length < 3600) {
    place = join(Buffer.alloc(240, 0xff));
    mkdirSync(place);
  }
  for (let number = 0; number < 10; number += 1) symlinkSync('nowhere', join(Buffer.concat([Buffer.alloc(200, 0xff), Buffer.from(String(number))])));
}

test('work on files whose result is larger than a pipe ends with it', async () => {
  makeLongestLinks(`${supervisor.home}/links`);
  const ignore = { onData: async () => undefined, onRepeat: () => undefined };
  expect(await supervisor.connection.packDirectory('links', ignore)).toMatchObject({ files: 0, failed: 10 });
});
