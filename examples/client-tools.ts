import { connect } from '../src/client.ts';

// With a service: connect({ url: 'https://longshore.example', apiKey: 'lsk_…' })
await using longshore = await connect();
const chat = await longshore.start({ agent: 'librarian', user: 'user-42', message: 'Open the entry of the program.' });
const tools = chat.tools({
  async open_file({ path }, { signal }) {
    if (signal.aborted) throw new Error('The editor is closed.');
    console.log('opens', path);
    return { opened: true };
  },
});
console.log(await chat.reply());
await chat.close();
await tools;
