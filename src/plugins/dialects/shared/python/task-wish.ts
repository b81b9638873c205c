import { z } from 'zod';
import type { ContentPart } from '../../../../contracts/transcript.ts';
import type { Json } from '../../../../contracts/json.ts';
import type { ModelQuestion } from '../../../api/server-question.ts';
import { TaskRefused, type TaskWish } from '../../../api/task-question.ts';
import { contentOf, partSchema, timerSchema, type ReadFile } from './deliver.ts';
import { readModelQuestion } from './model-question.ts';

/** As the process of the plugin has it (`tasks.py`). How many arguments there are is judged of each question alone: one that has too many is refused, and no other. */
export const askedSchema = z.object({
  questions: z.array(z.object({ id: z.string().regex(/^[0-9a-f]{32}$/), what: z.string().max(100), args: z.array(z.json()) })).max(200),
});

type Asked = z.infer<typeof askedSchema>['questions'][number];

const LONGEST_TEXT = 100_000;
/** Of a conversation. */
const id = z.string().regex(/^[\w.-]{1,200}$/, 'is no id of a conversation');
const wishes = {
  send: z.tuple([id], partSchema),
  note: z.tuple([id, z.object({ text: z.string().max(LONGEST_TEXT), wake: z.boolean() })]),
  'set-timer': z.tuple([id, timerSchema]),
  'clear-timers': z.tuple([id, z.object({ temporary: z.boolean().optional() })]),
  timers: z.tuple([id]),
  model: z.tuple([id, z.json()]),
  'model-name': z.tuple([id]),
  conversations: z.tuple([]),
};

/** What a task wants, of what its process says. @throws TaskRefused */
export async function wishOf({ what, args }: Asked, read: ReadFile): Promise<TaskWish> {
  switch (what) {
    case 'send': {
      const [conversationId, ...given] = parsed('send', args);
      const parts: ContentPart[] = [];
      for (const part of given) parts.push(textWithin(await contentOf(part, read).catch(refuse)));
      return { what, conversationId, parts };
    }
    case 'note': {
      const [conversationId, note] = parsed('note', args);
      return { what, conversationId, ...note };
    }
    case 'set-timer': {
      const [conversationId, { due, ...timer }] = parsed('set-timer', args);
      return { what, conversationId, timer: { ...timer, dueMs: due * 1000 } };
    }
    case 'clear-timers': {
      const [conversationId, { temporary }] = parsed('clear-timers', args);
      return { what, conversationId, ...(temporary !== undefined && { temporary }) };
    }
    case 'timers':
      return { what, conversationId: parsed('timers', args)[0] };
    case 'model': {
      const [conversationId, given] = parsed('model', args);
      return { what, conversationId, question: modelQuestionOf(given) };
    }
    case 'model-name':
      return { what, conversationId: parsed('model-name', args)[0] };
    case 'conversations':
      parsed('conversations', args);
      return { what };
    default:
      throw new TaskRefused(`a task cannot ask for ${JSON.stringify(what)}`);
  }
}

function parsed<What extends keyof typeof wishes>(what: What, args: unknown): z.infer<(typeof wishes)[What]> {
  const result = wishes[what].safeParse(args);
  if (!result.success) throw new TaskRefused(`what a task asks for (${what}) is not usable: ${z.prettifyError(result.error).slice(0, 300)}`);
  return result.data as z.infer<(typeof wishes)[What]>;
}

function modelQuestionOf(given: Json): ModelQuestion {
  try {
    return readModelQuestion(given);
  } catch (error) {
    return refuse(error);
  }
}

function textWithin(part: ContentPart): ContentPart {
  if (part.type === 'text' && part.text.length > LONGEST_TEXT)
    throw new TaskRefused(`a message of ${part.text.length} characters; at most ${LONGEST_TEXT} are allowed`);
  return part;
}

function refuse(error: unknown): never {
  throw new TaskRefused((error as Error).message);
}
