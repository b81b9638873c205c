import { killWorkersOfScript } from './kill-workers-of-script.ts';

test(
  'a worker killed twice while a script makes 12 calls: each takes effect once, and the script finishes',
  () => killWorkersOfScript({ kills: 2, rounds: 4 }),
  900_000,
);
