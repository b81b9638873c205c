import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { createTurns } from '../../../../common/turns.ts';
import { buildProgram } from '../../../bundle/bundle-program.ts';
import type { SourceLanguage, Transformed } from '../../shared/plugin-dialect.ts';

const PROGRAM = fileURLToPath(new URL(`./thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
const MOST_CHARACTERS = 4 * 1024 * 1024;
const LIMITS = { ms: 20_000, mb: 512 };
const FIX = 'Mount the methods in another file';

let program: Promise<string> | undefined;
/** One source at a time, so that many sources cannot take more memory than one. */
const { inTurn } = createTurns();

/**
 * Writes the comments of mounted methods into a source. In a thread with limits of time and memory: there are sources of 200,000 characters for which the
 * parser needs 20 seconds.
 */
export async function keepCommentsInThread(source: string, language: SourceLanguage, limits = LIMITS): Promise<Transformed> {
  if (source.length > MOST_CHARACTERS) return { problem: `mounts methods and is longer than ${MOST_CHARACTERS} characters`, fix: FIX };
  return inTurn(async () => {
    // Not `bundleProgram`, which waits for the bundler's retries: one of them may be what loads this source.
    program ??= buildProgram(PROGRAM);
    const made = program;
    const text = await made.catch((error: unknown) => {
      if (program === made) program = undefined;
      throw error;
    });
    return runThread(text, { source, language }, limits);
  });
}

function runThread(text: string, workerData: object, { ms, mb }: typeof LIMITS): Promise<Transformed> {
  return new Promise((resolve) => {
    const resourceLimits = { maxOldGenerationSizeMb: mb, maxYoungGenerationSizeMb: 64, stackSizeMb: 4 };
    const thread = new Worker(text, { eval: true, env: {}, execArgv: [], workerData, resourceLimits, name: 'longshore-comments' });
    const settle = (ending: Transformed): void => {
      clearTimeout(timer);
      resolve(ending);
      void thread.terminate();
    };
    const refuse = (reason: string): void => settle({ problem: `cannot be read for the comments of its methods: ${reason}`, fix: FIX });
    const timer = setTimeout(() => refuse(`that takes more than ${ms} ms`), ms);
    thread.on('message', (answer: { source: string } | { problem: string }) => settle('source' in answer ? answer : { ...answer, fix: FIX }));
    thread.on('error', (error: NodeJS.ErrnoException) =>
      refuse(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? `that takes more than ${mb} MB of memory` : error.message),
    );
    thread.on('exit', () => refuse('the thread that reads it ended'));
  });
}
