interface Rounds {
  everyMs: number;
  work: () => Promise<void>;
  /** Reports a round that has failed. The next one comes all the same. */
  onFailure: (error: unknown) => void;
}

/** Does work at intervals until it is stopped. A round that takes longer than the interval is not joined by another. `stop` waits for the round in progress. */
export function startRounds({ everyMs, work, onFailure }: Rounds): { stop(): Promise<void> } {
  let round: Promise<void> | undefined;
  const timer = setInterval(() => {
    round ??= work()
      .catch(onFailure)
      .finally(() => (round = undefined));
  }, everyMs);
  return {
    async stop() {
      clearInterval(timer);
      await round;
    },
  };
}
