import { connect } from '../src/client.ts';

await using longshore = await connect();
const chat = await longshore.start({ agent: 'fixer', user: 'user-42', message: 'Fix the failing test' });
console.log(await chat.reply());
await chat.close();
