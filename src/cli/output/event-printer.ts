import type { ConversationEvent } from '../../contracts/events.ts';
import type { Cli } from './cli.ts';
import { createNarration } from './narrate.ts';

const INTERRUPTED = '(the answer of the model was interrupted; it is repeated)';

/** Prints events for a person as they come: the agent's text as it is written, its tool calls and their results. */
export function createEventPrinter(cli: Cli): (event: ConversationEvent) => void {
  const narrate = createNarration();
  let isMidLine = false;
  /** Whether the running step has shown text, which another attempt makes void. */
  let hasText = false;
  let running: { stepId: string | undefined; attempt: number } | undefined;
  /** A worker that was thought dead may still write about an attempt after another has begun the next one. */
  const isOutdated = ({ stepId, attempt = Infinity }: ConversationEvent) => running !== undefined && stepId === running.stepId && attempt < running.attempt;
  const speak = (text: string) => {
    if (text === '') return;
    cli.out.print(text);
    isMidLine = !text.endsWith('\n');
  };
  const say = (text: string) => {
    cli.out.print(`${isMidLine ? '\n' : ''}${text}\n`);
    isMidLine = false;
  };
  return (event) => {
    if (isOutdated(event)) return undefined;
    if (event.type === 'text.delta') {
      hasText = true;
      return speak(event.data.text);
    }
    if (event.type === 'step.started') {
      if (event.data.attempt > 1)
        say(hasText ? INTERRUPTED : `(the model is asked again, attempt ${event.data.attempt}; if this goes on, see the log of the workers)`);
      hasText = false;
      running = { stepId: event.stepId, attempt: event.data.attempt };
    }
    // The person has just typed this message.
    if (event.type === 'message.received') return undefined;
    if (event.type === 'turn.finished' && event.data.outcome === 'finished') return say('');
    for (const { text } of narrate(event)) say(text);
    return undefined;
  };
}
