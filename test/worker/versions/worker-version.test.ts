import type { NativeConnection } from '@temporalio/worker';
import { loadConfig } from '../../../src/platform/config.ts';
import { checkPinning, workerDeployment } from '../../../src/worker/versions/worker-deployment.ts';

test('a worker has no version, unless the settings say so', () => {
  expect(loadConfig({}).LONGSHORE_WORKER_VERSION).toBeUndefined();
  expect(loadConfig({ LONGSHORE_WORKER_VERSION: '2026-11-27.1' }).LONGSHORE_WORKER_VERSION).toBe('2026-11-27.1');
});

test.each(['.1', 'a b', 'a/b', 'x'.repeat(101)])('LONGSHORE_WORKER_VERSION=%s is refused', (value) => {
  expect(() => loadConfig({ LONGSHORE_WORKER_VERSION: value })).toThrow('LONGSHORE_WORKER_VERSION');
});

const QUEUE = { LONGSHORE_TASK_QUEUE: 'longshore' };

test('a worker without a version is no part of a deployment', () => {
  expect(workerDeployment({ ...QUEUE, LONGSHORE_PINNED_TURNS: 'yes' })).toBeUndefined();
});

test.each([
  ['no', 'AUTO_UPGRADE'],
  ['yes', 'PINNED'],
] as const)('LONGSHORE_PINNED_TURNS=%s makes conversations %s', (pinned, defaultVersioningBehavior) => {
  const given = loadConfig({ LONGSHORE_WORKER_VERSION: '2', LONGSHORE_PINNED_TURNS: pinned });
  const version = { deploymentName: 'longshore', buildId: '2' };
  expect(workerDeployment(given)).toEqual({ useWorkerVersioning: true, version, defaultVersioningBehavior });
});

const server = (serverVersion: string) => ({ workflowService: { getSystemInfo: async () => ({ serverVersion }) } }) as unknown as NativeConnection;

test.each(['1.30.0', '1.32.1', '2.0.0', 'v1.31.0-151.0'])('turns can be pinned on a server %s', async (version) => {
  await checkPinning({ ...QUEUE, LONGSHORE_WORKER_VERSION: '2', LONGSHORE_PINNED_TURNS: 'yes' }, server(version));
});

test.each(['1.29.1', '1.9.0', '0.40.0', '', 'development'])('a server "%s" cannot move pinned conversations', async (version) => {
  await expect(checkPinning({ ...QUEUE, LONGSHORE_WORKER_VERSION: '2', LONGSHORE_PINNED_TURNS: 'yes' }, server(version))).rejects.toThrow(
    `LONGSHORE_PINNED_TURNS: Temporal's server is ${version || 'of an unknown version'}, and moves pinned conversations from 1.30 on. Update the server, or unset it`,
  );
});

test('turns of a worker without a version cannot be pinned', async () => {
  await expect(checkPinning({ ...QUEUE, LONGSHORE_PINNED_TURNS: 'yes' }, server('1.32.0'))).rejects.toThrow(
    'LONGSHORE_PINNED_TURNS: this worker has no version. Set LONGSHORE_WORKER_VERSION',
  );
});

test('a worker without pinned turns asks for no version of the server', async () => {
  await checkPinning({ ...QUEUE, LONGSHORE_WORKER_VERSION: '2' }, {} as NativeConnection);
});
