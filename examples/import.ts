import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { connect } from '../src/client.ts';

const file = process.argv[2] ?? 'conversation.tar.gz';
await using longshore = await connect();
const before = await longshore.start({ agent: 'notekeeper', user: 'user-42', message: 'Write down the time.' });
await before.reply();
await pipeline(await before.export(), createWriteStream(file));
await before.close();

// Here, or in another installation that has the agent.
const { chat, report } = await longshore.import(createReadStream(file));
console.log(report.entries, 'entries');
await chat.send('Once more.');
console.log(await chat.reply());
await chat.close();
