import { setMaxListeners } from 'node:events';
import { anySignal } from '../common/any-signal.ts';
import { serveOptions } from './client-tools/client-tool-arguments.ts';
import { eventOptions, treeOptions } from './client-arguments.ts';
import type { TreeOptions } from './events/read-tree.ts';
import type { Chat, EventOptions, Longshore } from './types.ts';

/** Any number of calls may listen to its signal at once, and each removes its listener when it ends. Node would report the eleventh listener as a leak. */
export function sharedController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** The calls of one conversation. Disposing it ends only its own iterations. */
export function createChat(longshore: Longshore, id: string, firstTurnId?: string): Chat {
  const disposed = sharedController();
  let newestTurnId = firstTurnId;
  const untilDisposed = (signal: AbortSignal | undefined) => (signal ? anySignal([signal, disposed.signal]) : disposed.signal);
  async function* events(options?: EventOptions) {
    const { signal, ...rest } = eventOptions(options);
    yield* longshore.events(id, { ...rest, signal: untilDisposed(signal) });
  }
  async function* treeEvents(options?: TreeOptions) {
    const { signal, ...rest } = treeOptions(options);
    yield* longshore.treeEvents(id, { ...rest, signal: untilDisposed(signal) });
  }
  return {
    id,
    async send(text, options) {
      const sent = await longshore.send(id, text, options);
      newestTurnId = sent.turnId;
      return sent;
    },
    events,
    treeEvents,
    reply: (turnId = newestTurnId) => longshore.reply(id, turnId),
    answer: (schema, turnId = newestTurnId) => longshore.answer(id, schema, turnId),
    status: () => longshore.status(id),
    transcript: (afterSeq) => longshore.transcript(id, afterSeq),
    attachment: (attachmentId) => longshore.attachment(id, attachmentId),
    checkpoints: () => longshore.checkpoints(id),
    export: (options) => longshore.export(id, options),
    diff: (options) => longshore.diff(id, options),
    rewind: (checkpointId, options) => longshore.rewind(id, checkpointId, options),
    fork: (options) => longshore.fork(id, options),
    pause: (options) => longshore.pause(id, options),
    resume: (grants) => longshore.resume(id, grants),
    approve: (options) => longshore.approve(id, options),
    revokeAllowed: (tool, options) => longshore.revokeAllowed(id, tool, options),
    async tools(handlers, options) {
      const { signal } = serveOptions(options);
      await longshore.tools(id, handlers, { signal: signal ? anySignal([signal, disposed.signal]) : disposed.signal });
    },
    interrupt: () => longshore.interrupt(id),
    stopAfterStep: () => longshore.stopAfterStep(id),
    cancel: () => longshore.cancel(id),
    compact: (options) => longshore.compact(id, options),
    close: () => longshore.close(id),
    [Symbol.asyncDispose]() {
      disposed.abort();
      return Promise.resolve();
    },
  };
}
