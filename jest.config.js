/** Tests run on the TypeScript sources as ES modules. Real parts (Docker, Temporal, Postgres) are started once by the global set-up. */
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript', decorators: true }, target: 'es2023', experimental: { keepImportAttributes: true } }, module: { type: 'es6' } },
    ],
  },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testTimeout: 60_000,
  // Tests wait more than they compute.
  maxWorkers: 3,
};
