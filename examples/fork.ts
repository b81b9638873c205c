import { connect } from '../src/client.ts';

await using longshore = await connect();
const chat = await longshore.start({ agent: 'notekeeper', user: 'user-42', message: 'Write down the time.' });
await chat.reply();

// Two ways to go on from here; the conversation itself goes on, too.
const forks = await Promise.all([chat.fork({ message: 'Again.' }), chat.fork({ message: 'Once more.' })]);
for (const fork of forks) console.log(await fork.reply());
console.log((await longshore.list({ forkedFrom: chat.id })).length, 'forks');

for (const one of [chat, ...forks]) await one.close();
