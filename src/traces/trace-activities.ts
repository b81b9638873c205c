import { CancelledFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { CallModelArgs, CallModelResult, ExecuteToolArgs, ExecuteToolResult, FinishTurnArgs } from '../contracts/activities.ts';
import type { Agent } from '../contracts/agent.ts';
import type { Logger } from '../platform/log.ts';
import type { Store } from '../store/store.ts';
import { modelAttributes, modelParts, requestAttributes, usageAttributes } from './genai-attributes.ts';
import { spanIdOf, turnPlace } from './trace-ids.ts';
import type { EndedSpan, SpanAttributes, Tracing } from './tracing.ts';

export interface TracedActivities {
  tracing: Tracing;
  agents: ReadonlyMap<string, Agent>;
  store: Pick<Store, 'usage'>;
  log: Logger;
}

/** One attempt of an activity. */
interface Attempt {
  activityType: string;
  /** Names the attempt in its conversation. */
  name: string;
  attempt: number;
  startMs: number;
  endMs: number;
}
type Ended<Result> = { result: Result } | { error: unknown };

/**
 * Records the attempts of activities as spans, with the names of OpenTelemetry's conventions for generative AI. It only watches: arguments, results and headers
 * pass unchanged, so histories are the same with and without it.
 */
export function traceActivities(parts: TracedActivities): ActivityInterceptorsFactory {
  return ({ info: { activityType, activityId, attempt, workflowExecution } }) => ({
    inbound: {
      async execute(input, next) {
        const startMs = Date.now();
        const ended = await next(input).then(
          (result): Ended<unknown> => ({ result }),
          (error: unknown): Ended<unknown> => ({ error }),
        );
        // Each run of a workflow numbers its activities from the beginning, and a turn may have several runs.
        const name = `${workflowExecution?.runId ?? ''}/${activityId}/${attempt}`;
        const work = { activityType, name, attempt, startMs, endMs: Date.now() };
        try {
          const span = await spanOf(parts, work, input.args[0], ended);
          if (span) parts.tracing.record(span);
        } catch (error) {
          parts.log.debug({ err: error, activityType }, 'a span was not recorded');
        }
        if ('error' in ended) throw ended.error;
        return ended.result;
      },
    },
  });
}

function spanOf(parts: TracedActivities, work: Attempt, args: unknown, ended: Ended<unknown>): EndedSpan | undefined | Promise<EndedSpan | undefined> {
  if (work.activityType === 'callModel') return chatSpan(parts, work, args as CallModelArgs, ended as Ended<CallModelResult>);
  if (work.activityType === 'finishTurn') return 'result' in ended ? turnSpan(parts, work, args as FinishTurnArgs) : undefined;
  // Tool calls run under the tool's id, which has a colon.
  return work.activityType.includes(':') ? toolSpan(work, args as ExecuteToolArgs, ended as Ended<ExecuteToolResult>) : undefined;
}

function chatSpan({ agents }: TracedActivities, work: Attempt, args: CallModelArgs, ended: Ended<CallModelResult>): EndedSpan | undefined {
  const agent = agents.get(args.agentId);
  const result = 'result' in ended ? ended.result : undefined;
  if (!agent || (result && !wasCalled(result))) return undefined;
  const attributes = {
    'gen_ai.operation.name': 'chat',
    ...modelAttributes(agent),
    ...requestAttributes(agent),
    ...placeAttributes(args, args.agentId),
    'longshore.step.id': args.stepId,
    'longshore.attempt': work.attempt,
    ...(result?.outcome === 'answered' && usageAttributes(result.usage)),
  };
  const errorType = result?.outcome === 'failed' ? result.code : errorTypeOf(ended);
  return { ...childOf(args.turnId, work), name: `chat ${modelParts(agent).model}`, kind: 'client', attributes, errorType };
}

/** Whether the model was called. One that has refused the prompt as too long was. */
function wasCalled(result: CallModelResult): boolean {
  return result.outcome === 'answered' || result.outcome === 'failed' || (result.outcome === 'compact' && result.reason === 'too-long');
}

function toolSpan(work: Attempt, args: ExecuteToolArgs, ended: Ended<ExecuteToolResult>): EndedSpan {
  const result = 'result' in ended ? ended.result : undefined;
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': args.tool,
    'gen_ai.tool.call.id': args.callId,
    'gen_ai.tool.type': 'function',
    ...placeAttributes(args, args.agentId),
    'longshore.step.id': args.stepId,
    'longshore.attempt': work.attempt,
    ...(result && { 'longshore.call.outcome': result.outcome }),
  };
  const failed = result?.outcome === 'unknown' || (result?.outcome === 'finished' && result.isError);
  return {
    ...childOf(args.turnId, work),
    name: `execute_tool ${args.tool}`,
    kind: 'internal',
    attributes,
    errorType: failed ? 'tool_error' : errorTypeOf(ended),
  };
}

/** The first span of a turn's trace, told when the turn has ended. It links to the turn before. */
async function turnSpan({ agents, store }: TracedActivities, work: Attempt, args: FinishTurnArgs): Promise<EndedSpan> {
  const { conversationId, turnId, outcome, status } = args;
  const { startedAt, previousTurnId, usage } = await store.usage.turn(conversationId, turnId);
  const agent = agents.get(status.agentId);
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    ...(agent && modelAttributes(agent)),
    ...placeAttributes({ ...args, tenantId: status.tenantId }, status.agentId),
    'longshore.turn.outcome': outcome,
    ...usageAttributes(usage),
  };
  return {
    ...turnPlace(turnId),
    name: `invoke_agent ${status.agentId}`,
    kind: 'internal',
    ...(previousTurnId !== undefined && { links: [turnPlace(previousTurnId)] }),
    startMs: startedAt === undefined ? work.startMs : Date.parse(startedAt),
    endMs: work.endMs,
    attributes,
    errorType: outcome === 'failed' ? 'failed' : undefined,
  };
}

function childOf(turnId: string, { name, startMs, endMs }: Attempt): Pick<EndedSpan, 'traceId' | 'spanId' | 'parentSpanId' | 'startMs' | 'endMs'> {
  const { traceId, spanId: parentSpanId } = turnPlace(turnId);
  return { traceId, parentSpanId, spanId: spanIdOf(turnId, name), startMs, endMs };
}

function placeAttributes({ conversationId, turnId, tenantId }: { conversationId: string; turnId: string; tenantId: string }, agentId: string): SpanAttributes {
  return {
    'gen_ai.conversation.id': conversationId,
    'gen_ai.agent.id': agentId,
    'gen_ai.agent.name': agentId,
    'longshore.turn.id': turnId,
    'longshore.tenant.id': tenantId,
  };
}

/** The code of an error; its text may have content. */
function errorTypeOf(ended: Ended<unknown>): string | undefined {
  if (!('error' in ended)) return undefined;
  const { error } = ended;
  if (error instanceof CancelledFailure) return 'cancelled';
  const { type } = (error ?? {}) as { type?: unknown };
  return typeof type === 'string' && type !== '' ? type : error instanceof Error ? error.name : '_OTHER';
}
