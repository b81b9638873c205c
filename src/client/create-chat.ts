import { setMaxListeners } from 'node:events';
import { anySignal } from '../common/any-signal.ts';
import { eventOptions } from './client-arguments.ts';
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
  async function* events(options?: EventOptions) {
    const { signal, ...rest } = eventOptions(options);
    yield* longshore.events(id, { ...rest, signal: signal ? anySignal([signal, disposed.signal]) : disposed.signal });
  }
  return {
    id,
    async send(text, options) {
      const sent = await longshore.send(id, text, options);
      newestTurnId = sent.turnId;
      return sent;
    },
    events,
    reply: (turnId = newestTurnId) => longshore.reply(id, turnId),
    status: () => longshore.status(id),
    transcript: (afterSeq) => longshore.transcript(id, afterSeq),
    pause: (options) => longshore.pause(id, options),
    resume: (grants) => longshore.resume(id, grants),
    approve: (options) => longshore.approve(id, options),
    interrupt: () => longshore.interrupt(id),
    stopAfterStep: () => longshore.stopAfterStep(id),
    cancel: () => longshore.cancel(id),
    close: () => longshore.close(id),
    [Symbol.asyncDispose]() {
      disposed.abort();
      return Promise.resolve();
    },
  };
}
