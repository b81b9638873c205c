import { failure } from '../contracts/errors.ts';
import type { AssistantPart, StoredEntry, TranscriptEntry } from '../contracts/transcript.ts';
import { checkExpectation } from './check-expectation.ts';
import { createArrayMeasure } from './context/length-of-json.ts';
import type { Model, ModelAnswer, ModelDelta, ModelRequest } from './model.ts';
import { readScript, type Script, type ScriptStep } from './script-file.ts';

type AssistantEntry = TranscriptEntry & { role: 'assistant' };
const DELTA_LENGTH = 16;

/**
 * A model that answers from a file. It keeps no state: the transcript alone determines its place in the script, so any process may ask it again
 * at any time. Before each step, it checks what the script expected of the previous step; a difference fails with `MODEL_SCRIPT_MISMATCH`.
 */
export function createScriptedModel(file: string): Model {
  return {
    async answer(request, onDelta) {
      const script = await readScript(file);
      if (request.sumsUp) return sumUp(script, request);
      if (request.ofPlugin) return answerPlugin(file, script, request, onDelta);
      const said = request.transcript.flatMap(({ entry }) => (entry.role === 'assistant' ? [entry] : []));
      const last = said.at(-1);
      if (last) checkStep(file, script, said.length - 1, last, request.transcript);
      const step = stepAt(script, said.length);
      if (!step) {
        throw mismatch(
          file,
          script.steps.length,
          `the script has no more steps, but the model was called again. Last message: ${lastWords(request.transcript)}`,
        );
      }
      request.signal.throwIfAborted();
      return play(step, request, onDelta);
    },
  };
}

/** A script may have a text for all summaries. */
function sumUp({ summary = '## Goal\n(nothing)\n## Open work\n(nothing)' }: Script, { transcript }: ModelRequest): ModelAnswer {
  const parts: AssistantPart[] = [{ type: 'text', text: summary }];
  return { parts, usage: { inputTokens: tokensOf(transcript), outputTokens: tokensOf(parts) } };
}

function answerPlugin(file: string, { plugin }: Script, request: ModelRequest, onDelta: (delta: ModelDelta) => void): ModelAnswer {
  if (!plugin) throw mismatch(file, 0, 'a plugin asked, and the script has no `plugin`, which would be the answer');
  return play(plugin, request, onDelta);
}

function stepAt(script: Script, position: number): ScriptStep | undefined {
  return script.steps[script.repeat ? position % script.steps.length : position];
}

function checkStep(file: string, script: Script, position: number, answer: AssistantEntry, transcript: StoredEntry[]): void {
  const step = stepAt(script, position);
  const callIds = answer.parts.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []));
  for (const [index, { call, expect }] of step?.calls.entries() ?? []) {
    if (!expect) continue;
    const stored = transcript.find(({ entry }) => entry.role === 'tool' && entry.callId === callIds[index]);
    const problem = stored?.entry.role === 'tool' ? checkExpectation(expect, stored.entry) : `expected ${JSON.stringify(expect)}, but there is no result`;
    if (problem) throw mismatch(file, position + 1, `${call}: ${problem}`);
  }
}

function play(step: ScriptStep, request: ModelRequest, onDelta: (delta: ModelDelta) => void): ModelAnswer {
  const parts: AssistantPart[] = [];
  if (step.think !== undefined) parts.push({ type: 'reasoning', text: step.think });
  if (step.say !== undefined) parts.push({ type: 'text', text: step.say });
  for (const part of parts) {
    if (part.type === 'tool-call') continue;
    for (const text of cut(part.text)) onDelta({ type: part.type, text });
  }
  for (const { call, with: input } of step.calls) parts.push({ type: 'tool-call', callId: '', tool: call, arguments: input });
  const usage = step.usage ?? { inputTokens: tokensOf(request.shown ?? request.transcript), outputTokens: tokensOf(parts) };
  return { parts, usage, ...(step.cutOff && { cutOff: step.cutOff }) };
}

function cut(text: string): string[] {
  return text.match(new RegExp(`.{1,${DELTA_LENGTH}}`, 'gsu')) ?? [];
}

const lengthOf = createArrayMeasure((json) => json.length);

function tokensOf(items: readonly object[]): number {
  return Math.ceil(lengthOf(items) / 4);
}

function lastWords(transcript: StoredEntry[]): string {
  return JSON.stringify(transcript.at(-1)?.entry ?? null).slice(0, 300);
}

function mismatch(file: string, step: number, problem: string): Error {
  return failure('MODEL_SCRIPT_MISMATCH', { file, step, problem });
}
