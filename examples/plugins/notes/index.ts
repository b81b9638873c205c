/** Notes that a user keeps across conversations. */
import { definePlugin, defineTool } from 'longshore/plugins';
import { z } from 'zod';

const title = z.string().min(1).max(100).describe('Title of the note; unique among those of the user.');

export default definePlugin({
  id: 'notes',
  version: '1.0.0',
  description: 'Notes of a user, kept across conversations',
  tools: [
    defineTool({
      id: 'save',
      description: 'Saves a note for the user. A note of the same title is written over.',
      parameters: z.object({ title, text: z.string().max(20_000) }),
      annotations: { idempotentHint: true },
      requireApproval: false,
      summarize: (input) => input.title,
      async execute(input, { store }) {
        const outcome = await store.set(input.title, input.text, { scope: 'user' });
        return { title: input.title, outcome };
      },
    }),
    defineTool({
      id: 'read',
      description: 'Reads a note of the user.',
      parameters: z.object({ title }),
      annotations: { readOnlyHint: true },
      async execute(input, { store }) {
        const text = await store.get(input.title, 'user');
        return text ?? { content: [{ type: 'text', text: `There is no note "${input.title}".` }], isError: true };
      },
    }),
    defineTool({
      id: 'list',
      description: 'Lists the titles of the notes of the user.',
      parameters: z.object({ beginning: z.string().max(100).default('').describe('Only titles that begin so.') }),
      annotations: { readOnlyHint: true },
      execute: async ({ beginning }, { store }) => store.list(beginning, 'user'),
    }),
    defineTool({
      id: 'delete',
      description: 'Deletes a note of the user.',
      parameters: z.object({ title }),
      annotations: { destructiveHint: true, idempotentHint: true },
      execute: async (input, { store }) => ({ deleted: await store.delete(input.title, 'user') }),
    }),
  ],
});
