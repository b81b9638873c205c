import { runScript } from '../support/run-script.ts';

test('the demo kills a worker and freezes the sandbox in mid-command, and the command runs once', async () => {
  const { code, said } = await runScript('scripts/demo.ts');
  // In one object, so that a failure shows the whole story.
  expect({ code, said }).toEqual({ code: 0, said: expect.stringMatching(/once killed with SIGKILL, once frozen in mid-command/) });
  expect(said).toContain('soak.py once');
  expect(said).toContain('All 16 tests pass');
  expect(said).toContain('no container and no volume is left behind');
}, 600_000);
