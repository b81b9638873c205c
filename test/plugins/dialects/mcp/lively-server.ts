import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  CancelTaskRequestSchema,
  CompleteRequestSchema,
  GetTaskPayloadRequestSchema,
  GetTaskRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  type Task,
} from '@modelcontextprotocol/sdk/types.js';

const CAPABILITIES = {
  tools: {},
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  tasks: { requests: { tools: { call: {} } }, cancel: {} },
};
const FORM = { message: 'How long?', requestedSchema: { type: 'object' as const, properties: { hours: { type: 'integer' as const } } } };
const TIMES = { createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z', pollInterval: 100, ttl: null };
const TASKS = { sail: 'required', drift: 'optional', ask: 'optional' } as const;

/** A server whose resources change and whose calls are tasks. All its connections share what it has. */
export interface Lively {
  create: () => Server;
  /** What it was asked, without requests about the state of tasks. */
  asked: string[];
  change: (uri: string, text: string) => void;
  listsChange: () => Promise<void>;
  /** Ends the only task that is there. */
  finish: (text: string) => void;

  tasks: Map<string, { status: Task['status']; result?: object }>;
}

export function createLively(): Lively {
  const contents = new Map([['tide://north', 'high']]);
  const open = new Map<Server, Set<string>>();
  const tasks: Lively['tasks'] = new Map();
  const asked: string[] = [];
  const taskOf = (taskId: string) => {
    const task = tasks.get(taskId);
    if (!task) throw new Error(`Task not found: ${taskId}`);
    return task;
  };
  const begin = (name: string) => {
    const taskId = `task-${tasks.size + 1}`;
    tasks.set(taskId, { status: name === 'ask' ? 'input_required' : 'working' });
    return { task: { taskId, status: 'working' as const, statusMessage: 'casting off', ...TIMES } };
  };
  const create = () => {
    const server = new Server({ name: 'lively', version: '1.0.0' }, { capabilities: CAPABILITIES });
    const subscribed = new Set<string>();
    open.set(server, subscribed);
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: Object.entries(TASKS).map(([name, taskSupport]) => ({ name, inputSchema: { type: 'object' as const }, execution: { taskSupport } })),
    }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
      asked.push(`call ${params.name}${params.task ? ' as a task' : ''}`);
      return params.task ? begin(params.name) : { content: [{ type: 'text', text: 'at once' }] };
    });
    server.setRequestHandler(GetTaskRequestSchema, ({ params: { taskId } }) => ({ taskId, status: taskOf(taskId).status, statusMessage: 'at sea', ...TIMES }));
    server.setRequestHandler(GetTaskPayloadRequestSchema, async ({ params: { taskId } }, { requestId }) => {
      const task = taskOf(taskId);
      asked.push(`result of ${taskId}`);
      if (task.status !== 'input_required') return { ...task.result };
      const answer = await server.elicitInput(FORM, { relatedRequestId: requestId, timeout: 600_000 });
      Object.assign(task, { status: 'completed', result: { content: [{ type: 'text', text: JSON.stringify(answer) }] } });
      return { ...task.result };
    });
    server.setRequestHandler(CancelTaskRequestSchema, ({ params: { taskId } }) => {
      asked.push(`cancel ${taskId}`);
      Object.assign(taskOf(taskId), { status: 'cancelled' });
      return { taskId, status: 'cancelled' as const, ...TIMES };
    });
    server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [...contents.keys()].map((uri) => ({ uri, name: uri })) }));
    server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
      const text = contents.get(uri);
      if (text === undefined) throw new Error(`there is no ${uri}`);
      return { contents: [{ uri, text }] };
    });
    server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
      asked.push(`subscribe ${uri}`);
      subscribed.add(uri);
      return {};
    });
    server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
      asked.push(`unsubscribe ${uri}`);
      subscribed.delete(uri);
      return {};
    });
    server.setRequestHandler(CompleteRequestSchema, ({ params: { ref, argument, context } }) => {
      const of = ref.type === 'ref/prompt' ? ref.name : ref.uri;
      return { completion: { values: [`${of}/${argument.name}=${argument.value}`, JSON.stringify(context?.arguments ?? {})], total: 7, hasMore: true } };
    });
    return server;
  };
  return {
    create,
    asked,
    tasks,
    change(uri, text) {
      contents.set(uri, text);
      for (const [server, subscribed] of open) if (subscribed.has(uri)) void server.sendResourceUpdated({ uri }).catch(() => undefined);
    },
    async listsChange() {
      for (const server of open.keys()) {
        await server.sendResourceListChanged();
        await server.sendPromptListChanged();
      }
    },
    finish(text) {
      for (const task of tasks.values()) Object.assign(task, { status: 'completed', result: { content: [{ type: 'text', text }] } });
    },
  };
}
