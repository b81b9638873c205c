import { failure } from '../../../../src/contracts/errors.ts';
import { mapEngineError } from '../../../../src/sandbox/engine/docker/errors.ts';
import { createEngine } from '../../../../src/sandbox/engine/docker/engine.ts';

describe('errors of the engine', () => {
  test('an engine that does not answer is DOCKER_UNAVAILABLE', async () => {
    await expect(createEngine('unix:///nowhere/docker.sock').inspect('x')).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE', retryable: true });
    await expect(createEngine('tcp://127.0.0.1:1').inspect('x')).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' });
  });

  test('a missing image is named', () => {
    expect(mapEngineError({ statusCode: 404, json: { message: 'No such image' } }, 'create', 'some:image')).toMatchObject({
      code: 'IMAGE_NOT_FOUND',
      values: { image: 'some:image' },
    });
  });

  test('a refusal says what was refused and why', () => {
    const error = mapEngineError({ statusCode: 500, json: { message: 'no space left' } }, 'create container a');
    expect(error.message).toBe('The Docker engine refused to create container a: no space left. See: longshore doctor');
  });

  test.each([
    'failed to start shim: start failed: fatal error: failed to reserve page summary memory\n\nruntime stack:\nruntime.throw()',
    'failed to start shim: fork/exec /usr/bin/containerd-shim-runc-v2: cannot allocate memory: unknown',
    'fatal error: runtime: out of memory\n\nruntime stack:',
  ])('where the kernel has refused memory, that is said, and the first line of what the engine says: %s', (message) => {
    const error = mapEngineError({ statusCode: 500, json: { message } }, 'start container a');
    expect(error).toMatchObject({ code: 'DOCKER_FAILED', retryable: true });
    expect(error.message).toBe(
      `The Docker engine refused to start container a: its machine has no memory for that now (${message.split('\n')[0]}). What waits for it is tried again. See: longshore doctor`,
    );
  });

  test('where what starts containers ended without an error, that is said, and what it may lack', () => {
    const message =
      'failed to create shim task: OCI runtime create failed: unable to retrieve OCI runtime error (open /run/log.json: no such file or directory): runc did not terminate successfully: exit status 2: unknown';
    expect(mapEngineError({ statusCode: 500, json: { message } }, 'start container a').message).toBe(
      `The Docker engine refused to start container a: what starts containers ended without an error, as when its machine has no memory (${message}). What waits for it is tried again. See: longshore doctor`,
    );
  });

  test('an error of the table stays itself', () => {
    const error = failure('SANDBOX_LOST', { sandboxId: 'a', problem: 'b' });
    expect(mapEngineError(error, 'x')).toBe(error);
  });

  test('an address of another kind is refused by name', () => {
    expect(() => createEngine('npipe:////./pipe/docker')).toThrow(/DOCKER_HOST.*npipe/);
  });
});
