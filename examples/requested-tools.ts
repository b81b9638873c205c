import { z } from 'zod';
import { connect } from '../src/client.ts';

await using longshore = await connect();
const chat = await longshore.start({
  agent: 'steward',
  user: 'user-42',
  message: 'Show me the harbour.',
  clientTools: {
    show_map: { description: 'Shows a place on the map of the user.', parameters: z.object({ place: z.string() }), timeout: '2m' },
  },
});
const tools = chat.tools({
  async show_map({ place }) {
    console.log('shows', place);
    return { shown: true };
  },
});
console.log(await chat.reply());
await chat.close();
await tools;
