import { killWorkers } from './kill-workers.ts';

test(
  'a worker killed at 25 random moments: every call takes effect exactly once and the transcript is whole',
  () => killWorkers({ kills: 25, calls: 20 }),
  900_000,
);
