import type { JsonObject } from '../../../src/contracts/json.ts';
import type { ScriptedStep } from '../support.ts';

const usage = { inputTokens: 80, outputTokens: 20 };
/** What each step costs. */
export const STEP_TOKENS = usage.inputTokens + usage.outputTokens;

export const calls = (...given: [string, JsonObject, JsonObject?][]): ScriptedStep => ({
  calls: given.map(([call, input, expect]) => ({ call, with: input, ...(expect && { expect }) })),
  usage,
});
export const say = (text: string): ScriptedStep => ({ say: text, usage });
/** Takes effect in the middle of its time, so that a kill falls before, between and after effects. */
export const mark = (label: string): [string, JsonObject, JsonObject] => [
  'shell:run',
  { command: `sleep 0.3; echo ${label} >> log; sleep 0.3` },
  { exitCode: 0 },
];
export const show: [string, JsonObject] = ['shell:run', { command: 'sort log' }];
