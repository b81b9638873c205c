import { killWorkersOfScript } from './kill-workers-of-script.ts';

test(
  'a worker killed 10 times while a script makes 60 calls: each takes effect once, and the script finishes',
  () => killWorkersOfScript({ kills: 10, rounds: 20 }),
  900_000,
);
