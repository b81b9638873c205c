import type { Json } from '../../../../contracts/json.ts';
import { cutMiddle } from '../../../../contracts/visible-text.ts';
import type { SaidMessage, ServerQuestion } from '../../../api/server-question.ts';
import { readModelQuestion } from './model-question.ts';

/** Each takes six bytes of the answer at most. */
const MOST_CHARACTERS = 150_000;
const LONGEST_MESSAGE = 20_000;

/**
 * Answers a question of a plugin's process (`questions.py`) about the call that is under way. `model`: the answer of the model. `model-name`: what it is called.
 * `messages`: the newest of what was said in the conversation.
 * @throws Error that the plugin is told
 */
export async function answerQuestion({ what, args: [given], askModel, modelName, saidSoFar }: ServerQuestion): Promise<Json> {
  switch (what) {
    case 'model': {
      const { usage, ...reply } = await askModel(readModelQuestion(given));
      return { ...reply, usage: { ...usage }, model: modelName };
    }
    case 'model-name':
      return modelName;
    case 'messages':
      return newestOf(await saidSoFar());
    default:
      throw new Error(`there is no question ${JSON.stringify(what.slice(0, 100))}`);
  }
}

/** As many as an answer can hold, oldest first. */
function newestOf(messages: SaidMessage[]): Json[] {
  const newest: SaidMessage[] = [];
  let characters = 0;
  for (const message of messages.toReversed()) {
    const shown = { ...message, text: cutMiddle(message.text, LONGEST_MESSAGE) };
    characters += shown.text.length;
    if (characters > MOST_CHARACTERS) break;
    newest.unshift(shown);
  }
  return newest.map((message) => ({ ...message }));
}
