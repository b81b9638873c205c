import { findAgent } from '../../src/activities/prompt-of-step.ts';

test('an agent that a worker does not know may have a file already: the worker has to start again to read it', () => {
  expect(() => findAgent(new Map(), 'reporter')).toThrow(
    `No agent named "reporter". Known: none. Put reporter.yaml into the workers' agents directory and restart them, set LONGSHORE_AGENTS to where it is, or name one that exists.`,
  );
});
