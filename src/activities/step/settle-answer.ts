import type { CallModelArgs } from '../../contracts/activities.ts';
import type { DeltaWriter } from '../../models/delta-writer.ts';
import type { ModelAnswer, ModelDelta } from '../../models/model.ts';
import { changeAnswer, tellOfAnswer } from '../../tool-calls/hooks/change-answer.ts';
import type { StepHooks } from '../../tool-calls/hooks/step-hooks.ts';
import { storeAnswer, type AnswerParts, type StoredAnswer } from './store-answer.ts';

interface Settling {
  args: CallModelArgs;
  hooks: StepHooks;
  deltas: DeltaWriter;
  /** What is counted as having answered. */
  model: string;
  /** The name by which plugins know a tool. */
  nameOf: (tool: string) => string;
}

/** Shows what the model says as it says it. A text that plugins may still change is shown when they have. */
export function shownBy({ hooks, deltas }: Pick<Settling, 'hooks' | 'deltas'>): (delta: ModelDelta) => void {
  return hooks.changeAnswers ? (delta) => (delta.type === 'text' ? undefined : deltas.add(delta)) : deltas.add;
}

/** Settles an answer of the model: plugins may change it, then it is stored, then plugins are notified. */
export async function settleAnswer(parts: AnswerParts, { args, hooks, deltas, model, nameOf }: Settling, given: ModelAnswer): Promise<StoredAnswer> {
  const answer = await changeAnswer(hooks, args.stepId, given, nameOf);
  if (hooks.changeAnswers) for (const part of answer.parts) if (part.type === 'text') deltas.add({ type: 'text', text: part.text });
  const stored = await storeAnswer(parts, args, answer, { model, told: await deltas.rest() });
  await tellOfAnswer(hooks, args.stepId, stored.entry.parts);
  return stored;
}
