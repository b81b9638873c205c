import { Context } from '@temporalio/activity';
import type { ExecuteToolArgs, ExecuteToolResult, ProposedCall } from '../../../src/contracts/activities.ts';
import type { PendingApproval } from '../../../src/contracts/conversation.ts';
import { asks, Command, toolCall, until, type World } from '../support.ts';
import { counted, finished, long, padding } from './long.ts';

export const DISTURBANCES = [
  'pause',
  'pause now',
  'resume',
  'steer',
  'queue',
  'interrupt',
  'interrupt by a message',
  'stop',
  'cancel',
  'close',
  'answer',
] as const;
/** `code` makes calls: of these, each third needs a person, and each fourth waits for a client. */
export const KINDS = ['calls', 'code', 'asked', 'clients', 'agent', 'in background'] as const;

/** Calls of one kind; of `code`, the calls that it makes. */
export interface Part {
  kind: (typeof KINDS)[number];
  count: number;
}
interface Disturbance {
  /** It happens with this activity of the conversation. */
  at: number;
  what: (typeof DISTURBANCES)[number];
}
export interface Plan {
  steps: Part[][];
  disturbances: Disturbance[];
  /** The turns count among those that run: they give their places back while they wait. */
  counted: boolean;
}

const SIGNALS: { [What in Disturbance['what']]?: [name: string, args?: object] } = {
  pause: ['pause', { mode: 'step' }],
  'pause now': ['pause', { mode: 'now' }],
  resume: ['resume'],
  interrupt: ['interrupt'],
  cancel: ['cancel'],
  close: ['close'],
  stop: ['stopAfterStep'],
};
const SPENT = { tokens: 1, steps: 1, workedMs: 1, costUsd: 0 };
/** Looks at the conversation without anything new, after which the world answers one thing that is waited for. */
const QUIET_LOOKS = 5;

/** A conversation whose activities all make a long history, so that each run has few of them, and what is done to it meanwhile. */
export class Disturbed {
  readonly plan: Plan;
  readonly proposed: ProposedCall[][];
  readonly #left: Disturbance[];
  /** Calls that clients and sub-agents have ended. */
  readonly #ended = new Set<string>();
  /** Calls that have been waited for. */
  readonly #awaited = new Set<string>();
  readonly #codes = new Map<string, ProposedCall[]>();
  readonly #closed = new Set<string>();
  world!: World;

  constructor(plan: Plan) {
    this.plan = plan;
    this.#left = [...plan.disturbances];
    this.proposed = plan.steps.map((parts) => parts.flatMap((part) => this.#calls(part)));
  }

  prepare(world: World): void {
    this.world = world;
    for (const calls of this.proposed) {
      const answer = long(asks(...calls));
      world.answers.push(this.plan.counted ? async (args) => ({ ...(await answer(args)), counted: true }) : answer);
    }
    world.tool = async (args) => {
      await this.#happen();
      return await this.#run(args);
    };
  }

  /** Answers what is waited for, and resumes what is paused, until all is done. */
  async toEnd(): Promise<void> {
    let quiet = 0;
    let seen = 0;
    await until(
      async () => {
        const { world } = this;
        quiet = world.book.length === seen ? quiet + 1 : 0;
        seen = world.book.length;
        await this.#closeAgents();
        // Operators look at any time: also while the end of a turn is recorded.
        const { state } = await world.status();
        if (quiet > QUIET_LOOKS) {
          if (state === 'paused') await world.handle.signal('resume');
          await this.#answerOne();
          quiet = 0;
        }
        return state === 'closed' || (state === 'idle' && world.saved?.state === 'idle' && world.saved.queued === 0);
      },
      () => this.world.names().join(', '),
    );
  }

  /** The workflow waits for the ends of the sub-agents that it closes. */
  async untilClosed(): Promise<void> {
    let over = false;
    const result = this.world.handle.result().finally(() => (over = true));
    await until(
      async () => {
        await this.#closeAgents();
        return over;
      },
      () => this.world.names().join(', '),
    );
    await result;
  }

  /** Code, by its id, with the calls that it makes. */
  get codes(): ReadonlyMap<string, ProposedCall[]> {
    return this.#codes;
  }

  #calls({ kind, count }: Part): ProposedCall[] {
    switch (kind) {
      case 'calls':
        return counted(count).map(() => toolCall());
      case 'asked':
        return counted(count).map(() => toolCall({ decision: 'ask', why: 'it is asked about' }));
      case 'clients':
        return counted(count).map(() => toolCall({ tool: 'client:open', needsSandbox: false, client: true }));
      case 'agent':
        return [toolCall({ tool: 'agents:run', needsSandbox: false, share: {}, waits: true })];
      case 'in background':
        return [toolCall({ tool: 'agents:start', needsSandbox: false, share: {} })];
      case 'code':
        return [this.#code(count)];
      default:
        throw new Error(`there are no calls of the kind ${String(kind satisfies never)}`);
    }
  }

  #code(count: number): ProposedCall {
    const code = toolCall();
    const methods = counted(count).map((index) => {
      const more = index % 3 === 2 ? ({ decision: 'ask' } as const) : index % 4 === 3 ? ({ tool: 'client:open', client: true } as const) : {};
      return toolCall({ callId: `${code.callId}/${index}`, hash: `hash-${index}`, needsSandbox: false, ...more });
    });
    this.#codes.set(code.callId, methods);
    return code;
  }

  async #run(args: ExecuteToolArgs): Promise<ExecuteToolResult> {
    const { callId, tool } = args;
    if (this.#codes.has(callId)) return await this.#follow(args);
    if (tool === 'agents:start') return finished({ started: `conv_${callId}`, sandboxTier: this.world.sandboxTier, padding });
    if (!tool.startsWith('client:') && tool !== 'agents:run') {
      this.#ended.add(callId);
      this.world.sandboxTier = 'running';
      return finished({ padding });
    }
    const sandboxTier = this.world.sandboxTier;
    if (this.#ended.has(callId)) return finished({ sandboxTier, ...(tool === 'agents:run' && { spent: SPENT }), padding });
    this.#awaited.add(callId);
    return { outcome: 'suspended', calls: [], sandboxTier, ...(tool === 'agents:run' ? { waitsFor: [`conv_${callId}`] } : { client: {} }) };
  }

  /** Code reports calls that the workflow does not own yet, and waits for those that it owns. */
  async #follow({ callId, openMethods = [] }: ExecuteToolArgs): Promise<ExecuteToolResult> {
    const { world } = this;
    world.sandboxTier = 'running';
    const code = world.commands.get(callId) ?? new Command();
    world.commands.set(callId, code);
    const settled = () => new Set([...this.#ended, ...world.asked('settleCall').map((args) => String(args['callId']))]);
    const next = this.#codes.get(callId)?.find((method) => !settled().has(method.callId));
    const killed = () => code.state === 'killed';
    if (killed()) return { outcome: 'interrupted', sandboxTier: 'running' };
    if (!next) return finished({ padding });
    if (!openMethods.includes(next.callId)) return { outcome: 'suspended', calls: [next], sandboxTier: 'running' };
    const context = Context.current();
    let looks = 0;
    // It is let go when its attach is cancelled, and when it only waits.
    await until(
      async () => {
        context.heartbeat();
        looks += 1;
        return settled().has(next.callId) || killed() || context.cancellationSignal.aborted || looks > QUIET_LOOKS;
      },
      () => `${next.callId} has no end`,
    );
    if (killed()) return { outcome: 'interrupted', sandboxTier: 'running' };
    if (context.cancellationSignal.aborted) return { outcome: 'detached', sandboxTier: world.sandboxTier };
    return { outcome: 'suspended', calls: [], sandboxTier: 'running' };
  }

  /** Does what is due by now. The answers to messages are not waited for: the workflow may wait for this activity. */
  async #happen(): Promise<void> {
    const asked = this.world.book.length;
    const due = this.#left.filter(({ at }) => at <= asked);
    this.#left.splice(0, Infinity, ...this.#left.filter(({ at }) => at > asked));
    for (const { what } of due) await this.#do(what);
  }

  async #do(what: Disturbance['what']): Promise<void> {
    const signalled = SIGNALS[what];
    if (signalled) return this.world.handle.signal(...signalled).catch(() => undefined);
    if (what === 'steer' || what === 'queue') return this.#send(what);
    if (what === 'interrupt by a message') return this.#send('interrupt');
    for (const callId of Array.from(this.#awaited)) await this.#end(callId);
  }

  #send(whenBusy: string): Promise<void> {
    void this.world.send('more', { whenBusy }).catch(() => undefined);
    return Promise.resolve();
  }

  /** The oldest of what is waited for: an approval, a client or a sub-agent. */
  async #answerOne(): Promise<void> {
    const { handle } = this.world;
    const [pending] = await handle.query<PendingApproval[]>('pendingApprovals');
    if (pending) {
      const { callId, hash } = pending;
      const answer = callId.length % 2 === 0 ? 'deny' : 'allow-once';
      await handle.executeUpdate('resolveApproval', { args: [{ callId, hash, answer }] }).catch(() => undefined);
      return;
    }
    const [oldest] = this.#awaited;
    if (oldest !== undefined) await this.#end(oldest);
  }

  async #end(callId: string): Promise<void> {
    this.#awaited.delete(callId);
    this.#ended.add(callId);
    await this.world.handle.signal('clientAnswered', { callId }).catch(() => undefined);
    await this.world.handle.signal('subAgentEnded', { callId, spent: SPENT }).catch(() => undefined);
  }

  async #closeAgents(): Promise<void> {
    for (const { callId } of this.world.asked('closeSubAgent')) {
      if (this.#closed.has(String(callId))) continue;
      this.#closed.add(String(callId));
      await this.#end(String(callId));
    }
  }
}
