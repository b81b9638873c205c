import { killWorkers } from './kill-workers.ts';

test('a worker killed at 10 random moments: every call takes effect exactly once and the transcript is whole', () => killWorkers(10), 900_000);
