/** The program of the thread that runs `keepComments` with limits of time and memory. */
import { parentPort, workerData } from 'node:worker_threads';
import { keepComments } from './keep-comments.ts';
import type { SourceLanguage } from '../../shared/plugin-dialect.ts';

const { source, language } = workerData as { source: string; language: SourceLanguage };

try {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  parentPort?.postMessage({ source: keepComments(source, language) });
} catch (error) {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  parentPort?.postMessage({ problem: error instanceof Error ? error.message : String(error) });
}
