/** The same in a worker thread. */
import { parentPort } from 'node:worker_threads';

parentPort.on('message', ({ id, input: { a, text } }) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
  parentPort.postMessage({ id, sum: a + text.length });
});
