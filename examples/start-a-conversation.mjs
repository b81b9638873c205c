import { connect } from 'longshore';

const longshore = await connect();
try {
  const chat = await longshore.start({ agent: 'fixer', user: 'user-42', message: 'Fix the failing test' });
  console.log(await chat.reply());
  await chat.close();
} finally {
  await longshore[Symbol.asyncDispose]();
}
