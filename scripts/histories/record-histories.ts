/**
 * Records the conversations of the replay tests into test/histories, on the Temporal server at TEMPORAL_ADDRESS.
 * Run it after a change of the workflow that running conversations need not survive; others go behind `patched`. Arguments name the scenes to record;
 * without any it records all.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { Context } from '@temporalio/activity';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { AnswerCheck, ProposedCall } from '../../src/contracts/activities.ts';
import type { WaitsForPlace } from '../../src/contracts/places/turn-place.ts';
import { asks, followCommand, Stage, suspendedBy, toolCall, until, untilCancelled, type Answer, type World } from '../../test/workflows/support.ts';

const DIRECTORY = new URL('../../test/histories/', import.meta.url);

/** Waits in an activity until it is cancelled. */
async function cancelled(): Promise<void> {
  const context = Context.current();
  const heartbeat = setInterval(() => context.heartbeat(), 50);
  await context.cancelled.finally(() => clearInterval(heartbeat));
}

const scenes: Record<string, (stage: Stage) => Promise<Pick<World, 'handle'>>> = {
  async 'tools-and-close'(stage) {
    const world = await stage.start((world) => world.answers.push(asks(toolCall({ readOnly: true }), toolCall({ readOnly: true }), toolCall()), asks()));
    await world.untilAsked('finishTurn');
    await world.send('once more');
    await world.untilAsked('finishTurn', 2);
    await world.close();
    return world;
  },
  async approval(stage) {
    const [first, second] = [toolCall({ decision: 'ask' }), toolCall({ decision: 'ask', tool: 'files:write' })];
    const world = await stage.start((world) => world.answers.push(asks(first, second), asks()), { approvalTimeoutMs: 3_600_000 });
    await world.untilState('awaiting-approval');
    await world.handle.executeUpdate('resolveApproval', {
      args: [{ callId: first.callId, hash: first.hash, answer: 'allow', editedArguments: { command: 'ls' } }],
    });
    await world.handle.executeUpdate('resolveApproval', { args: [{ callId: second.callId, hash: second.hash, answer: 'deny', reason: 'no' }] });
    await world.untilAsked('finishTurn');
    await world.close();
    return world;
  },
  async 'pause-now'(stage) {
    const call = toolCall();
    const world = await stage.start(
      (world) => {
        world.answers.push(asks(call), asks());
        world.tool = followCommand;
      },
      { freezeAfterMs: 3_600_000 },
    );
    await world.untilAsked('shell:run');
    await world.handle.signal('pause', { mode: 'now', note: 'look' });
    await world.untilState('paused');
    await world.handle.signal('resume');
    await until(
      async () => world.commands.get(call.callId)?.attaches === 2,
      () => 'not attached again',
    );
    world.commands.get(call.callId)!.state = 'ended';
    await world.untilAsked('finishTurn');
    await world.close();
    return world;
  },
  async 'code-that-waits'(stage) {
    const call = toolCall({ tool: 'code:run' });
    const [asked, free] = [toolCall({ decision: 'ask', callId: `${call.callId}-1m1` }), toolCall({ callId: `${call.callId}-1m2`, tool: 'files:write' })];
    const world = await stage.start(
      (world) => {
        world.answers.push(asks(call), asks());
        world.tool = suspendedBy(call.callId, [asked, free]);
      },
      { freezeAfterMs: 50, approvalTimeoutMs: 3_600_000 },
    );
    await world.untilAsked('freezeSandbox');
    await world.handle.executeUpdate('resolveApproval', { args: [{ callId: asked.callId, hash: asked.hash, answer: 'allow-once' }] });
    await world.untilAsked('finishTurn');
    await world.close();
    return world;
  },
  async 'interrupt-and-steer'(stage) {
    const world = await stage.start((world) => {
      world.answers.push(asks(toolCall(), toolCall()));
      world.tool = followCommand;
    });
    await world.untilAsked('shell:run');
    await world.send('left', { whenBusy: 'steer' });
    await world.send('now', { whenBusy: 'interrupt' });
    await world.untilAsked('finishTurn', 3);
    await world.close();
    return world;
  },
  'turn-may-have-ended': (stage) => scenes['interrupt-and-steer']!(stage),
  async 'note-that-wakes'(stage) {
    const world = await stage.start((world) => {
      world.answers.push(asks(toolCall({ kind: 'behavior' })));
      world.tool = async ({ callId }, { handle }) => {
        await handle.signal('wake', { callId });
        return { outcome: 'finished', isError: false, sandboxTier: 'running' };
      };
    });
    await world.untilAsked('finishTurn', 2);
    await world.close();
    return world;
  },
  async 'judged-and-repaired'(stage) {
    const calls = [1, 2, 3].map(() => toolCall({ decision: 'ask', auto: true }));
    const [allowed, handed, first] = calls.map(({ callId }) => callId);
    const says =
      (answer: AnswerCheck, ...proposed: ProposedCall[]): Answer =>
      () => ({ outcome: 'answered', calls: proposed, usage: { inputTokens: 10, outputTokens: 5 }, spoke: true, answer });
    const world = await stage.start((made) => {
      made.judge = async ({ callId }) => {
        if (callId === first) await cancelled();
        return { verdict: callId === allowed ? 'allow' : 'hand-over', reason: 'said the judge', usage: { inputTokens: 20, outputTokens: 1 } };
      };
      made.answers.push(says({ outcome: 'pending' }, ...calls), says({ outcome: 'refused', message: 'no' }), says({ outcome: 'fits' }));
    });
    await world.untilAsked('recordApproval', 2);
    for (const { callId, hash } of calls.filter(({ callId }) => callId === handed || callId === first)) {
      await world.handle.executeUpdate('resolveApproval', { args: [{ callId, hash, answer: 'allow-once' }] });
    }
    await world.untilAsked('finishTurn');
    await world.close();
    return world;
  },
  async 'budget-and-cancel'(stage) {
    const world = await stage.start((world) => world.answers.push(asks(toolCall()), asks(toolCall())), {
      budget: { tokens: 20, steps: 5, wallTimeMs: 3_600_000 },
    });
    await world.untilState('paused');
    await world.handle.signal('resume', { extraTokens: 100 });
    await world.untilAsked('finishTurn');
    await world.handle.cancel();
    await world.handle.result().catch(() => undefined);
    return world;
  },
  async 'waiting-and-cost'(stage) {
    const call = toolCall({ decision: 'ask' });
    const paid =
      (answer: Answer, costUsd: number): Answer =>
      async (args) => {
        const given = await answer(args);
        return given.outcome === 'answered' ? { ...given, usage: { ...given.usage, costUsd } } : given;
      };
    const world = await stage.start((world) => world.answers.push(paid(asks(call), 0.25), paid(asks(toolCall()), 0.5), paid(asks(), 0.001)));
    await world.untilState('awaiting-approval');
    await world.handle.executeUpdate('resolveApproval', { args: [{ callId: call.callId, hash: call.hash, answer: 'allow-once' }] });
    await world.untilAsked('finishTurn');
    await world.handle.signal('pause');
    await world.untilState('paused');
    await world.handle.signal('resume');
    await world.untilState('idle');
    await world.close();
    return world;
  },
  async 'allowed-and-revoked'(stage) {
    const first = toolCall({ decision: 'ask' });
    const again = toolCall({ remembered: true });
    const world = await stage.start((made) => {
      const revoking: Answer = async (args) => {
        await made.handle.executeUpdate('revokeAllowedTool', { args: [{ tool: first.tool, by: 'ada' }] });
        return asks(again)(args);
      };
      made.answers.push(asks(first), asks(), revoking, asks());
    });
    await world.untilState('awaiting-approval');
    await world.handle.executeUpdate('resolveApproval', { args: [{ callId: first.callId, hash: first.hash, answer: 'allow', by: 'ada' }] });
    await world.untilAsked('finishTurn');
    await world.send('again');
    await world.untilState('awaiting-approval');
    await world.handle.executeUpdate('resolveApproval', { args: [{ callId: again.callId, hash: again.hash, answer: 'allow-once' }] });
    await world.untilAsked('finishTurn', 2);
    await world.close();
    return world;
  },
  async 'accept-with-model'(stage) {
    const world = await stage.start((world) => {
      world.hindered = 1;
      world.answers.push(asks(toolCall()));
      world.tool = followCommand;
    });
    await world.untilAsked('shell:run');
    await world.send('left', { whenBusy: 'steer' });
    await world.untilAsked('saveStatus');
    for (const command of world.commands.values()) command.state = 'ended';
    await world.untilAsked('finishTurn');
    world.acceptsNothing = true;
    world.answers.push(untilCancelled);
    await world.send('ended before it is accepted');
    await world.untilAsked('callModel', 4);
    await world.handle.signal('interrupt');
    await world.untilAsked('finishTurn', 2);
    world.acceptsNothing = false;
    await world.send('at once');
    await world.untilAsked('finishTurn', 3);
    await world.close();
    return world;
  },
  async 'schedule-run'(stage) {
    const handle = await stage.runSchedule({ agent: 'fixer', user: 'user', message: 'Report.' });
    await handle.result();
    return { handle };
  },
  async 'webhook-sender'(stage) {
    stage.senders.results = [{ outcome: 'more' }, { outcome: 'retry', afterMs: 50 }, { outcome: 'retry', afterMs: 3_600_000 }, { outcome: 'empty' }];
    const handle = await stage.senders.start(stage);
    for (const runs of [3, 4]) {
      await until(
        async () => stage.senders.runs === runs,
        () => `run ${stage.senders.runs} of the sender`,
      );
      await handle.signal('wake');
    }
    await handle.result();
    return { handle };
  },
  async fork(stage) {
    const fork = { conversationId: 'conv_source', transcriptSeq: 4, files: 'exact' as const };
    const world = await stage.start((world) => world.answers.push(asks(toolCall()), asks()), {}, true, { fork });
    await world.untilAsked('finishTurn');
    await world.close();
    return world;
  },
  async 'forked-source'(stage) {
    const world = await stage.start((world) => world.answers.push(asks(toolCall()), asks()));
    await world.handle.signal('forked', { conversationId: 'conv_fork', forks: 1 });
    await world.untilAsked('finishTurn');
    await world.handle.signal('forked', { conversationId: 'conv_other', forks: 2 });
    await world.send('once more');
    await world.untilAsked('finishTurn', 2);
    await world.close();
    return world;
  },
  async 'close-when-done'(stage) {
    const scheduledBy = { scheduleId: 'nightly', at: '2026-01-01T06:00:00.000Z' };
    const world = await stage.start((world) => world.answers.push(asks(toolCall()), asks()), {}, true, { scheduledBy, closeWhenDone: true });
    await world.handle.result();
    return world;
  },
  async 'ends-of-turns'(stage) {
    const world = await stage.start();
    await world.untilAsked('finishTurn');
    world.endsLocally = () => Promise.reject(new Error('the database is away'));
    await world.send('second');
    await world.untilAsked('finishTurn', 5);
    world.endsLocally = async () => undefined;
    await world.send('third');
    await world.untilAsked('finishTurn', 6);
    await world.close();
    return world;
  },
  async places(stage) {
    const waits: WaitsForPlace = { limit: 'tenant', name: 'tenant', running: 1, allowed: 1 };
    const code = toolCall({ tool: 'code:run' });
    const [call, method] = [toolCall({ decision: 'ask' }), toolCall({ decision: 'ask', callId: `${code.callId}-1m1` })];
    const counted =
      (answer: Answer): Answer =>
      async (args) => ({ ...(await answer(args)), counted: true });
    const world = await stage.start((made) => {
      made.answers.push(() => ({ outcome: 'waits', waits }), counted(asks(call)), counted(asks(code)), counted(asks()));
      made.places.push({ outcome: 'counted' }, { outcome: 'waits', waits }, { outcome: 'counted' }, { outcome: 'waits', waits });
      made.tool = suspendedBy(code.callId, [method]);
    });
    const inLine = async (times: number) => {
      const isMeant = (type: string) => type === 'turn.waiting';
      await until(
        async () => world.events.filter(isMeant).length === times,
        () => `not in the line for the ${times}. time`,
      );
      await world.handle.signal('turnHasPlace', { turnId: 'turn_first' });
    };
    await inLine(1);
    for (const [index, { callId, hash }] of [call, method].entries()) {
      await world.untilAsked('leavePlace', index + 1);
      await world.handle.executeUpdate('resolveApproval', { args: [{ callId, hash, answer: 'allow-once' }] });
      await inLine(index + 2);
    }
    await world.untilAsked('finishTurn');
    await world.close();
    return world;
  },
};

await mkdir(DIRECTORY, { recursive: true });
const wanted = process.argv.slice(2);
const stage = await Stage.open();
try {
  for (const [name, play] of Object.entries(scenes)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const world = await play(stage);
    // Stack traces of failures name files of this machine.
    const history = historyToJSON(await world.handle.fetchHistory()).replaceAll(`${process.cwd()}/`, '/project/');
    const { events } = JSON.parse(history) as { events: unknown[] };
    await writeFile(new URL(`${name}.json`, DIRECTORY), `${JSON.stringify({ events })}\n`);
    console.log(`${name}: ${events.length} events`);
  }
} finally {
  await stage.close();
}
