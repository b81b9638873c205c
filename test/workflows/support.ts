import { ApplicationFailure, Context } from '@temporalio/activity';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributePair } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { pino } from 'pino';
import type {
  AcceptedMessage,
  CallModelArgs,
  CallModelResult,
  ConversationActivities,
  ExecuteToolArgs,
  ExecuteToolResult,
} from '../../src/contracts/activities.ts';
import type { JudgeCallArgs, JudgeCallResult } from '../../src/contracts/judging.ts';
import type { PlaceAnswer } from '../../src/contracts/places/turn-place.ts';
import type { CompactContextResult } from '../../src/contracts/transcript.ts';
import type { AgentLimits } from '../../src/contracts/agent.ts';
import type { ConversationState, ConversationStatus, SandboxTier } from '../../src/contracts/conversation.ts';
import type { ConversationInput } from '../../src/contracts/conversation-run.ts';
import { type Elsewhere, HOST_CUT_OFF, hostQueue, SANDBOX_ELSEWHERE } from '../../src/contracts/hosts/elsewhere.ts';
import { makeId } from '../../src/contracts/ids.ts';
import { scheduledConversationId, type StartScheduledArgs } from '../../src/contracts/schedule.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { loadWorkflowBundle } from '../../src/worker/workflow-bundle.ts';
import { asks, Command, until, type Answer } from './answers.ts';
import { Hooks } from './hooks.ts';
import { WebhookSenders } from './webhook-senders.ts';

export { asks, Command, toolCall, until, untilCancelled, type Answer } from './answers.ts';
export { followCommand, suspendedBy } from './tool-scripts.ts';

export type ToolScript = (args: ExecuteToolArgs, world: World) => Promise<ExecuteToolResult>;

/** The world outside one conversation: a scripted model, scripted tools, and a book of all that was asked. */
export class World extends Hooks {
  readonly conversationId = makeId('conv', Date.now(), Math.random);
  /** The activities as the workflow asked for them. */
  readonly book: { activity: string; args: Record<string, unknown> }[] = [];
  /** By activity of the book: the host on whose queue it was asked for; undefined on that of all workers. */
  readonly hosts: (string | undefined)[] = [];
  /** Says of an activity that the sandbox is on another host. */
  elsewhere: (activity: string, host: string | undefined) => Elsewhere | undefined = () => undefined;
  /** A host whose worker does not reach Postgres. */
  cutOff: string | undefined;
  readonly statuses: ConversationStatus[] = [];
  readonly events: string[] = [];
  answers: Answer[] = [];
  /** How compactions end; `changed` when nothing is said. */
  readonly compactions: CompactContextResult[] = [];
  compact: () => Promise<CompactContextResult> = async () => this.compactions.shift() ?? { changed: true };
  /** Answers to `askForPlace`; then that the turn has its place. */
  readonly places: PlaceAnswer[] = [];
  tool: ToolScript = async () => ({ outcome: 'finished', isError: false, sandboxTier: 'running' });
  judge: (args: JudgeCallArgs) => Promise<JudgeCallResult> = async () => ({ verdict: 'hand-over', reason: 'Not asked by the test.' });
  /** Messages in the order in which they were accepted, each once. */
  readonly accepted: (AcceptedMessage & { turnId: string })[] = [];
  /** Model calls that cannot accept their messages now. */
  hindered = 0;
  /** Model calls accept no messages and do not say so: they are ended before they do, or their worker is of an earlier version. */
  acceptsNothing = false;
  /** Where the ends of turns were asked for, in order. */
  readonly endings: ('local' | 'activity')[] = [];
  /** What becomes of the end of a turn within its workflow task. */
  endsLocally: () => Promise<void> = async () => undefined;
  /** Activities that fail for good. */
  readonly broken = new Map<string, string>();
  sandboxTier: SandboxTier = 'none';
  readonly commands = new Map<string, Command>();
  handle!: WorkflowHandle;

  /** Names of the activities in the order in which they were asked for; tools as `tool callId`. */
  names(): string[] {
    return this.book.map(({ activity, args }) => (activity.includes(':') ? `${activity} ${String(args['callId'])}` : activity));
  }
  /** The activities that use a sandbox or may, each with the host where it was asked for. */
  whereAsked(): string[] {
    return this.names().flatMap((name, index) =>
      /^(callModel|interruptCall)|Sandbox|Checkpoint|:/.test(name) ? [`${name} @${this.hosts[index] ?? 'any'}`] : [],
    );
  }
  asked(activity: string): Record<string, unknown>[] {
    return this.book.filter((entry) => entry.activity === activity).map(({ args }) => args);
  }
  accept({ turnId, messageId, text, steers }: AcceptedMessage & { turnId: string }): void {
    if (this.accepted.some((known) => known.messageId === messageId)) return;
    this.accepted.push({ turnId, messageId, ...(text !== undefined && { text }), steers });
  }
  /** What a model call does first. Returns its outcome when the messages were not accepted. */
  acceptWithModel(turnId: string, { messages, status }: NonNullable<CallModelArgs['accepts']>): CallModelResult | undefined {
    if (this.acceptsNothing) return undefined;
    const problem = this.broken.get('acceptMessage');
    if (problem !== undefined) return { outcome: 'failed', accepted: false, code: 'MESSAGE_INVALID', message: problem };
    if (this.hindered-- > 0) return { outcome: 'unaccepted', accepted: false };
    if (messages.some(({ messageId }) => this.accepted.every((known) => known.messageId !== messageId))) this.statuses.push(status);
    for (const message of messages) this.accept({ turnId, ...message });
    return undefined;
  }
  /** The state last saved for readers. */
  get saved(): ConversationStatus | undefined {
    return this.statuses.at(-1);
  }
  status(): Promise<ConversationStatus> {
    return this.handle.query<ConversationStatus>('status');
  }
  send(text: string, more: object = {}): Promise<{ turnId: string; duplicate: boolean }> {
    return this.handle.executeUpdate('sendMessage', { args: [{ text, ...more }] });
  }
  async close(): Promise<void> {
    await this.handle.signal('close');
    await this.handle.result();
  }
  untilState(state: ConversationState): Promise<void> {
    return until(
      async () => this.saved?.state === state,
      () => `saved state ${this.saved?.state}, not ${state}; ${this.names().join(', ')}`,
    );
  }
  /** Waits until the activity was asked for `times` times. */
  untilAsked(activity: string, times = 1): Promise<void> {
    return until(
      async () => this.asked(activity).length >= times,
      () => `${activity} not asked for ${times} times; ${this.names().join(', ')}`,
    );
  }
}

/** A worker on the test's Temporal server with scripted activities, shared by the tests of one file. */
export class Stage {
  readonly taskQueue = `test-workflows-${Math.random().toString(36).slice(2)}`;
  /** Runs of schedules that asked for a conversation. */
  readonly scheduled: StartScheduledArgs[] = [];
  readonly senders = new WebhookSenders();
  private readonly worlds = new Map<string, World>();
  private readonly stops: (() => Promise<unknown>)[] = [];
  client!: Client;
  private native!: NativeConnection;

  static async open(options: Pick<WorkerOptions, 'maxCachedWorkflows'> = {}): Promise<Stage> {
    const stage = new Stage();
    const address = process.env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233';
    const connection = await Connection.connect({ address });
    stage.client = new Client({ connection, identity: 'test' });
    stage.stops.push(() => connection.close());
    const native = await NativeConnection.connect({ address });
    stage.stops.unshift(() => native.close());
    stage.native = native;
    await stage.poll({ ...options, taskQueue: stage.taskQueue, workflowBundle: await bundle() });
    stage.stops.unshift(await stage.senders.serve(native, stage.taskQueue));
    return stage;
  }

  /** A worker that has activities of one host only. */
  pollHost(hostId: string): Promise<void> {
    return this.poll({ taskQueue: hostQueue(this.taskQueue, hostId) });
  }

  private async poll(options: Pick<WorkerOptions, 'taskQueue' | 'workflowBundle' | 'maxCachedWorkflows'>): Promise<void> {
    const worker = await Worker.create({
      ...options,
      connection: this.native,
      identity: 'test',
      activities: this.activities(),
      maxHeartbeatThrottleInterval: 50,
      defaultHeartbeatThrottleInterval: 50,
      shutdownGraceTime: 100,
    });
    const done = worker.run();
    this.stops.unshift(async () => {
      worker.shutdown();
      await done;
    });
  }

  /** Ends all conversations of the tests, then the worker and its connections. */
  async close(): Promise<void> {
    await Promise.all([...this.worlds.values()].map(({ handle }) => handle.terminate('test is over').catch(() => undefined)));
    for (const stop of this.stops) await stop();
  }

  /** Starts a conversation; the world is prepared before its first message is seen. */
  async start(
    prepare: (world: World) => void = () => undefined,
    limits: Partial<AgentLimits> = {},
    message = true,
    more: Pick<ConversationInput, 'scheduledBy' | 'closeWhenDone' | 'fork'> = {},
  ): Promise<World> {
    const world = new World();
    prepare(world);
    this.worlds.set(world.conversationId, world);
    const input: ConversationInput = {
      conversationId: world.conversationId,
      agentId: 'fixer',
      userId: 'user',
      tenantId: 'tenant',
      limits: { budget: {}, freezeAfterMs: 0, stopAfterMs: 0, onClose: 'destroy', approvalTimeoutMs: 0, ...limits },
      ...more,
      ...(message && { firstMessage: { messageId: 'msg_first', turnId: 'turn_first' } }),
    };
    world.handle = await this.client.workflow.start('conversation', { taskQueue: this.taskQueue, workflowId: world.conversationId, args: [input] });
    return world;
  }

  /** Starts a run of a schedule as Temporal does, or as an operator does by hand. */
  runSchedule(input: unknown, due: Date | 'by hand' = new Date()): Promise<WorkflowHandle> {
    const typedSearchAttributes: SearchAttributePair[] =
      due === 'by hand'
        ? []
        : [
            { key: defineSearchAttributeKey('TemporalScheduledById', SearchAttributeType.KEYWORD), value: 'nightly' },
            { key: defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME), value: due },
          ];
    const options = { taskQueue: this.taskQueue, workflowId: makeId('conv', Date.now(), Math.random), args: [input], typedSearchAttributes };
    return this.client.workflow.start('scheduledConversation', options);
  }

  private activities(): ConversationActivities & { default: (args: ExecuteToolArgs) => Promise<ExecuteToolResult> } {
    const enter = (activity: string, args: { conversationId?: string; status?: ConversationStatus } & object): World => {
      const world = this.worlds.get(args.conversationId ?? args.status?.conversationId ?? '');
      if (world === undefined) throw ApplicationFailure.nonRetryable('no such conversation in this test');
      world.book.push({ activity, args: { ...args } });
      const { taskQueue } = Context.current().info;
      const host = taskQueue === this.taskQueue ? undefined : taskQueue.slice(this.taskQueue.length + 1);
      world.hosts.push(host);
      const elsewhere = world.elsewhere(activity, host);
      if (elsewhere) throw ApplicationFailure.create({ message: 'it is elsewhere', type: SANDBOX_ELSEWHERE, nonRetryable: true, details: [elsewhere] });
      if (host !== undefined && host === world.cutOff) throw ApplicationFailure.nonRetryable('it is cut off', HOST_CUT_OFF);
      const problem = world.broken.get(activity);
      if (problem !== undefined) throw ApplicationFailure.nonRetryable(problem);
      if (args.status) world.statuses.push(args.status);
      return world;
    };
    const tier = (activity: string, to: SandboxTier) => async (args: { conversationId: string }) => {
      const world = enter(activity, args);
      world.sandboxTier = to;
      return { sandboxTier: to };
    };
    return {
      callModel: async (args) => {
        const world = enter('callModel', args);
        const refusal = args.accepts && world.acceptWithModel(args.turnId, args.accepts);
        if (refusal) return refusal;
        return { ...(await (world.answers.shift() ?? asks())(args)), ...(args.accepts && !world.acceptsNothing && { accepted: true }) };
      },
      compactContext: async (args) => enter('compactContext', args).compact(),
      restoreContext: async (args) => void enter('restoreContext', args),
      settleCall: async (args) => void enter('settleCall', args),
      judgeCall: async (args) => {
        const world = enter('judgeCall', args);
        return await world.judge(args);
      },
      recordApproval: async (args) => enter('recordApproval', args).record(args),
      editArguments: async (args) => enter('editArguments', args).edit,
      acceptMessage: async (args) => enter('acceptMessage', args).accept(args),
      finishTurn: async (args) => {
        const world = enter('finishTurn', args);
        const { isLocal } = Context.current().info;
        world.endings.push(isLocal ? 'local' : 'activity');
        if (isLocal) await world.endsLocally();
      },
      saveStatus: async (args) => void enter('saveStatus', args).events.push(...args.events.map(({ type }) => type)),
      freezeSandbox: tier('freezeSandbox', 'frozen'),
      hibernateSandbox: tier('hibernateSandbox', 'hibernated'),
      archiveSandbox: tier('archiveSandbox', 'archived'),
      wakeSandbox: tier('wakeSandbox', 'running'),
      stopSandbox: tier('stopSandbox', 'stopped'),
      destroySandbox: tier('destroySandbox', 'destroyed'),
      closeSubAgent: async (args) => (enter('closeSubAgent', args), {}),
      holdSubAgent: async (args) => enter('holdSubAgent', args).hold(),
      keepCheckpoint: async (args) => void enter('keepCheckpoint', args),
      rewindConversation: async (args) => (
        await enter('rewindConversation', args).rewind(),
        { ...args, before: 'cp_before', written: 1, removed: 0, failed: 0 }
      ),
      forkSandbox: async (args) => enter('forkSandbox', args).files(args),
      reportEnd: async (args) => void enter('reportEnd', args),
      askForPlace: async (args) => enter('askForPlace', args).places.shift() ?? { outcome: 'counted' },
      leavePlace: async (args) => void enter('leavePlace', args),
      startScheduled: async (args) => {
        this.scheduled.push(args);
        return { conversationId: scheduledConversationId(args.scheduledBy) };
      },
      interruptCall: async (args) => {
        const command = enter('interruptCall', args).commands.get(args.callId);
        if (command?.state === 'running') command.state = 'killed';
      },
      default: async (args) => {
        const world = enter(Context.current().info.activityType, args);
        return await world.tool(args, world);
      },
    };
  }
}

/** The workflow's code as workers load it: bundled once for these sources, and kept. */
export function bundle(): ReturnType<typeof loadWorkflowBundle> {
  return loadWorkflowBundle({ home: loadConfig().LONGSHORE_HOME, log: pino({ level: 'silent' }) });
}
/** Says nothing but errors. */
export const quiet = new DefaultLogger('ERROR');
Runtime.install({ logger: quiet, telemetryOptions: { logging: { filter: 'OFF' } } });
