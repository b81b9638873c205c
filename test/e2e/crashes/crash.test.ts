import { killWorkers } from './kill-workers.ts';

test(
  'a worker killed at 5 random moments: every call takes effect exactly once and the transcript is whole',
  () => killWorkers({ kills: 5, calls: 10 }),
  900_000,
);
