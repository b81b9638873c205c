import type { ConversationEvent } from '../../contracts/events.ts';
import type { Cli } from './cli.ts';
import { createNarration } from './narrate.ts';

/** Prints events for a person as they come: the agent's text as it is written, its tool calls and their results. */
export function createEventPrinter(cli: Cli): (event: ConversationEvent) => void {
  const narrate = createNarration();
  let isMidLine = false;
  let attempt: number | undefined;
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
    if (event.type === 'text.delta') {
      if (attempt !== undefined && event.attempt !== undefined && event.attempt > attempt) say('(the answer of the model was interrupted; it is repeated)');
      attempt = event.attempt;
      return speak(event.data.text);
    }
    // The person has just typed this message.
    if (event.type === 'message.received') return undefined;
    if (event.type === 'step.finished') attempt = undefined;
    if (event.type === 'turn.finished' && event.data.outcome === 'finished') return say('');
    for (const { text } of narrate(event)) say(text);
    return undefined;
  };
}
