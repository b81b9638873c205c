import { startTestStack, type TestStack } from './stack.ts';

declare global {
  var longshoreTestStack: TestStack | undefined;
}

/** Starts the servers that all tests share. */
export default async function globalSetup(): Promise<void> {
  globalThis.longshoreTestStack = await startTestStack();
}
