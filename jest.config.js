import { env } from 'node:process';

/** Longer proofs have a command of their own, npm run test:proofs: `none` of them, `only` them, or `too`. */
const proofs = env.LONGSHORE_TEST_PROOFS ?? 'none';

/** Tests run on the TypeScript sources as ES modules. Real parts (Docker, Temporal, Postgres) are started once by the global set-up. */
export default {
  testEnvironment: '<rootDir>/test/support/environment-until.js',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript', decorators: true }, target: 'es2023', experimental: { keepImportAttributes: true } }, module: { type: 'es6' } },
    ],
  },
  testMatch: [proofs === 'only' ? '<rootDir>/test/**/*.proof.test.ts' : '<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: proofs === 'none' ? ['\\.proof\\.test\\.ts$'] : [],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testSequencer: '<rootDir>/test/support/long-files-first.js',
  // Far beyond what a test takes: a busy machine is slow, and a test that hangs says so all the same.
  testTimeout: 180_000,
  // On a busy machine, a process with a large heap takes longer to end than the half second that Jest gives it.
  workerGracefulExitTimeout: 10_000,
  // Tests wait more than they compute.
  maxWorkers: 4,
};
