import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DeterminismViolationError } from '@temporalio/workflow';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import { bundle, quiet } from './support.ts';

const HISTORIES = fileURLToPath(new URL('../histories/', import.meta.url));
const CHANGED = fileURLToPath(new URL('./fixtures/changed-conversation.ts', import.meta.url));
const names = readdirSync(HISTORIES).filter((name) => name.endsWith('.json'));
const history = (name: string): unknown => JSON.parse(readFileSync(HISTORIES + name, 'utf8'));

let workflowBundle: Awaited<ReturnType<typeof bundle>>;
beforeAll(async () => {
  workflowBundle = await bundle();
});

test('there are recorded histories', () => {
  expect(names.length).toBeGreaterThanOrEqual(5);
});

test.each(names)('%s replays', async (name) => {
  await Worker.runReplayHistory({ workflowBundle }, history(name));
});

test('a changed workflow is caught', async () => {
  const changed = await bundleWorkflowCode({ workflowsPath: CHANGED, logger: quiet });
  await expect(Worker.runReplayHistory({ workflowBundle: changed }, history(names[0]!))).rejects.toThrow(DeterminismViolationError);
});
