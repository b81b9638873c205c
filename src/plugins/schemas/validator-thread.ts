/** Compiles schemas and checks values against them, in a separate thread that is terminated if it takes too long. */
import { parentPort, workerData } from 'node:worker_threads';
import { threadMs } from './thread-time.ts';
import { createAnyCompiler } from './compile-schema.ts';
import type { ThreadAnswer, Question, Shared } from './thread-messages.ts';
import { reasonOf } from './words.ts';

const compile = createAnyCompiler();
const checks = new Map<number, ReturnType<typeof compile>>();
tellPatterns(workerData as Shared);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has none
parentPort?.on('message', (question: Question) => parentPort?.postMessage(answer(question)));

function answer({ key, toCompile, value, forget }: Question): ThreadAnswer {
  const since = threadMs();
  if (forget) checks.clear();
  try {
    const check = (toCompile ? compile(toCompile) : checks.get(key)) ?? (() => []);
    checks.set(key, check);
    return { problems: value === undefined ? [] : check(value), tookMs: threadMs() - since };
  } catch (error) {
    return { unusable: reasonOf(error as Error), tookMs: threadMs() - since };
  }
}

/** Writes the regular expression that is being matched to shared memory, where the worker can read it while this thread is busy. */
function tellPatterns({ length, text }: Shared): void {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its own `this`
  const { test } = RegExp.prototype;
  let last = '';
  // oxlint-disable-next-line no-extend-native -- two libraries make the expressions, and nothing else runs in this realm
  RegExp.prototype.test = function testAndTell(this: RegExp, tested: string): boolean {
    const { source } = this;
    if (source !== last) for (let index = 0; index < text.length && index < source.length; index += 1) text[index] = source.charCodeAt(index);
    last = source;
    Atomics.store(length, 0, Math.min(source.length, text.length));
    const result = test.call(this, tested);
    Atomics.store(length, 0, 0);
    return result;
  };
}
