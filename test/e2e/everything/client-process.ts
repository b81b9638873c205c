/**
 * Runs the tools of a conversation and says which calls it runs. Arguments: the id of the conversation, and, where it has to die, after how many milliseconds of
 * its first call: before or after it has given the result.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../../src/client.ts';

const [conversationId = '', milliseconds] = process.argv.slice(2);
const longshore = await connect();
const chat = await longshore.chat(conversationId);
await chat.tools({
  async count(_input, { callId }) {
    console.log(callId);
    if (milliseconds !== undefined) setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(milliseconds));
    await sleep(200);
    return 1;
  },
});
