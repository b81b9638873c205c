import { freeExec } from '../../../../contracts/call-ids.ts';
import type { Json, JsonObject } from '../../../../contracts/json.ts';
import type { WorkerHandle } from '../../../../sandbox/api/sandbox.ts';
import { TaskRefused, type AnswerTask } from '../../../api/task-question.ts';
import type { Reached } from './reached.ts';
import { askedSchema, wishOf } from './task-wish.ts';

const ANSWER_TIMEOUT_MS = 10_000;
/** What a plugin asks beyond these is answered at the next look. */
const ROUNDS = 10;

type Handle = Pick<WorkerHandle, 'fileExists' | 'serverMark' | 'callServer' | 'forget' | 'readFile'>;

/**
 * Answers what tasks of the plugin ask in a sandbox that runs. The process gives a question until it has the answer, so one whose worker has ended is answered by
 * the next. A process that does not run is not started.
 */
export async function answerTasks({ server, pluginId }: Reached, handle: Handle, tenantId: string, answer: AnswerTask): Promise<void> {
  const { name } = server();
  if (!(await handle.fileExists(`.longshore-plugin/asks-${name}`)) || (await handle.serverMark(name)) === undefined) return;
  let answers: JsonObject = {};
  for (let round = 0; round < ROUNDS; round += 1) {
    const { questions } = askedSchema.parse(await exchange(server(), handle, answers));
    if (questions.length === 0) return;
    answers = {};
    // In their order: a plugin that sends two messages means them so.
    for (const question of questions) {
      const read = (path: string, maxBytes: number) => handle.readFile(path, { maxBytes });
      const answered = wishOf(question, read).then((wish) => answer({ pluginId, tenantId, id: question.id, wish }));
      const outcome = await answered.then((ok): Json | undefined => (ok === undefined ? undefined : { ok }), refusal);
      if (outcome !== undefined) answers[question.id] = outcome;
    }
    // The others are answered at a later look.
    if (Object.keys(answers).length === 0) return;
  }
  await exchange(server(), handle, answers);
}

function refusal(error: unknown): Json {
  if (error instanceof TaskRefused) return { error: error.message };
  throw error;
}

async function exchange(server: ReturnType<Reached['server']>, handle: Handle, answers: JsonObject): Promise<JsonObject> {
  const execId = freeExec();
  try {
    const answer = await handle.callServer(server, { method: 'longshore/tasks', params: { answers } }, { execId, timeoutMs: ANSWER_TIMEOUT_MS });
    if (answer.outcome === 'answered') return answer.result;
    throw new Error(`the process of the plugin does not say what its tasks ask (${answer.outcome})`);
  } finally {
    await handle.forget(execId).catch(() => undefined);
  }
}
