/**
 * Records the runs of a turn that goes on in new runs into test/histories, on a Temporal server of its own that suggests a new run after few events. As with
 * record-histories.ts, a break of what is recorded must not be hidden by recording it again.
 */
import { writeFile } from 'node:fs/promises';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { makeOwnTemporal } from '../../test/support/own-temporal.ts';
import { codeThatCalls, counted, finished } from '../../test/workflows/runs/long.ts';
import { asks, Stage, toolCall, type World } from '../../test/workflows/support.ts';

const DIRECTORY = new URL('../../test/histories/', import.meta.url);
const SHORT_RUNS = { 'limit.historyCount.suggestContinueAsNew': 40 };

/** Steps with calls, code that makes calls, and calls of one step that are left to the next run; with a message that joins the turn, and a pause. */
async function play(stage: Stage): Promise<World> {
  const code = toolCall({ tool: 'code:run' });
  const methods = counted(9).map((index) => `${code.callId}-1m${index}`);
  const world = await stage.start((made) => {
    made.answers.push(asks(toolCall()), asks(toolCall()), asks(code), asks(...counted(6).map(() => toolCall())));
    const calls = codeThatCalls(code.callId, methods, {});
    made.tool = async (args, ...more) => {
      if (args.callId === methods[4]) await made.send('and this', { whenBusy: 'steer' });
      return methods.includes(args.callId) || args.callId === code.callId ? calls(args, ...more) : finished();
    };
  });
  await world.untilAsked('finishTurn');
  await world.close();
  return world;
}

/** All runs of the conversation, in order. */
async function* runsOf(stage: Stage, { conversationId, handle }: World) {
  let runId = (await handle.describe()).raw.workflowExecutionInfo?.firstRunId ?? '';
  while (runId !== '') {
    const history = await stage.client.workflow.getHandle(conversationId, runId).fetchHistory();
    yield history;
    runId = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? '';
  }
}

await using server = await makeOwnTemporal(SHORT_RUNS);
process.env['TEMPORAL_ADDRESS'] = server.address;
const stage = await Stage.open();
try {
  const world = await play(stage);
  let number = 0;
  for await (const run of runsOf(stage, world)) {
    number += 1;
    const { events } = JSON.parse(historyToJSON(run).replaceAll(`${process.cwd()}/`, '/project/')) as { events: unknown[] };
    await writeFile(new URL(`turn-in-run-${number}.json`, DIRECTORY), `${JSON.stringify({ events })}\n`);
    console.log(`turn-in-run-${number}: ${events.length} events`);
  }
} finally {
  await stage.close();
}
