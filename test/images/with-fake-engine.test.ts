import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fakeEngine } from './fake-engine.ts';

const IMAGE = 'longshore-template:tools-0123456789abcdef';
const LISTED = `case "$*" in
  "image ls"*) echo ${IMAGE} ;;
  "image inspect --format"*) printf '["${IMAGE}"]\\t1\\ttools\\n' ;;`;

describe('removing the images of a template', () => {
  test('removes none when it is not known which containers use them', async () => {
    await using engine = await fakeEngine(`${LISTED} ps*) echo "engine is busy" >&2; exit 1 ;; esac`);
    expect(await engine.run('remove')).toEqual({ failed: expect.stringContaining('engine is busy') });
    expect((await engine.calls()).filter((call) => call.startsWith('image rm'))).toEqual([]);
  });

  test('leaves it to the engine to refuse one of which a container is made meanwhile, unless it is forced', async () => {
    await using engine = await fakeEngine(`${LISTED} esac`);
    expect(await engine.run('remove')).toEqual({ result: [IMAGE] });
    expect(await engine.run('remove-forced')).toEqual({ result: [IMAGE] });
    expect((await engine.calls()).filter((call) => call.startsWith('image rm'))).toEqual([`image rm ${IMAGE}`, `image rm --force ${IMAGE}`]);
  });
});

describe('building a template', () => {
  const failing = (before: string) => `case "$*" in
    "buildx version") exit 1 ;;
    "image inspect ${IMAGE}") test -e there || exit 1 ;;
    build*) ${before} echo "pull access denied" >&2; exit 1 ;;
  esac`;
  const failed = { failed: expect.stringContaining('pull access denied') };

  test('that waits for another build ends when it is aborted', async () => {
    await using engine = await fakeEngine(failing(''));
    expect(await engine.run('build-aborted', IMAGE)).toEqual({ failed: expect.stringContaining('abort') });
  });

  test('which fails while a worker that shares no lock builds the same has its image', async () => {
    await using engine = await fakeEngine(failing('touch there;'));
    expect(await engine.run('build', IMAGE)).toEqual({ result: 'present' });
  });

  test('fails with what the engine says where there is no image, and where a new one is wanted', async () => {
    await using engine = await fakeEngine(failing(''));
    expect(await engine.run('build', IMAGE)).toEqual(failed);
    await writeFile(join(engine.directory, 'there'), '');
    expect(await engine.run('build-forced', IMAGE)).toEqual(failed);
  });
});
