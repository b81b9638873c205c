import { jsonSchema, streamText, tool, type FinishReason, type LanguageModelUsage, type TextStreamPart, type ToolSet } from 'ai';
import { anySignal } from '../common/any-signal.ts';
import { isObject, type JsonObject } from '../contracts/json.ts';
import { CUT_OFF, type AssistantPart } from '../contracts/transcript.ts';
import { withMeasuredArguments, type LanguageModelOfProvider } from './measured-arguments.ts';
import type { Model, ModelAnswer, ModelDelta, ModelRequest, ModelTool } from './model.ts';
import { withMedia } from './media/prompt-media.ts';
import { withOutput } from './with-output.ts';
import { toMessages } from './prompt.ts';
import { withWellFormedText } from './well-formed.ts';
import { toModelFailure } from './provider-failures.ts';
import type { ProviderTraits } from './provider-traits.ts';

const CALL_SETTINGS = new Set(['temperature', 'maxOutputTokens', 'topP', 'topK', 'presencePenalty', 'frequencyPenalty', 'stopSequences', 'seed', 'headers']);
/** A request fails when the provider sends nothing for this long; local models may think for minutes before their first token. */
const SILENCE_MS = 300_000;
/** Of one call; far more than any has. */
const MOST_TOKENS = 1_000_000_000;
/** Of an answer; far more than any has, and what a worker can keep. */
const MOST_CHARACTERS = 10_000_000;

/** A model behind a provider's API. The caller retries: each `answer` makes one request. */
export function createProviderModel(settings: { languageModel: LanguageModelOfProvider; traits: ProviderTraits; options: JsonObject; secret: string }): Model {
  const { languageModel, traits, options, secret } = settings;
  const callSettings = Object.fromEntries(Object.entries(options).filter(([name]) => CALL_SETTINGS.has(name)));
  const ownOptions = Object.fromEntries(Object.entries(options).filter(([name]) => !CALL_SETTINGS.has(name)));
  const providerOptions = { [traits.optionsKey]: { ...traits.defaults, ...ownOptions } };
  return {
    async answer(request, onDelta) {
      const silence = watchSilence();
      const failed = new AbortController();
      const problems = new Map<string, string>();
      try {
        const { fullStream } = streamText({
          ...callSettings,
          ...limitedAnswer(callSettings, request),
          model: withOutput(
            withWellFormedText(withMeasuredArguments(languageModel, (toolCallId, problem) => problems.set(toolCallId, problem))),
            traits.takesOutput ? request.output : undefined,
          ),
          ...toMessages({ ...request, shown: await withMedia(request, traits.takes) }, traits),
          tools: toToolSet(request.tools),
          providerOptions,
          maxRetries: 0,
          abortSignal: anySignal([request.signal, silence.signal, failed.signal]),
          // Errors arrive in the stream; by default the library prints them as well.
          onError: () => undefined,
        });
        return await collect(fullStream, new AnswerBuilder({ tools: request.tools, onDelta, problems, clearedTokens: traits.clearedTokens }), silence.heard);
      } catch (error) {
        // The provider may go on after an error within its answer, and would be read, and paid, to the end.
        failed.abort(error);
        if (request.signal.aborted) throw request.signal.reason;
        throw toModelFailure(silence.signal.aborted ? silence.signal.reason : error, traits, secret);
      } finally {
        silence.stop();
      }
    },
  };
}

/** The smaller one of both limits. */
function limitedAnswer({ maxOutputTokens: own }: JsonObject, { maxOutputTokens: most }: ModelRequest): { maxOutputTokens?: number } {
  return most === undefined ? {} : { maxOutputTokens: typeof own === 'number' ? Math.min(own, most) : most };
}

function watchSilence(): { signal: AbortSignal; heard: () => void; stop: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`it sent nothing for ${SILENCE_MS / 1000} s`)), SILENCE_MS);
  return { signal: controller.signal, heard: () => timer.refresh(), stop: () => clearTimeout(timer) };
}

function toToolSet(tools: ModelTool[]): ToolSet {
  return Object.fromEntries(tools.map(({ name, description, parameters }) => [name, tool({ description, inputSchema: jsonSchema(parameters) })]));
}

async function collect(stream: AsyncIterable<TextStreamPart<ToolSet>>, answer: AnswerBuilder, heard: () => void): Promise<ModelAnswer> {
  let characters = 0;
  for await (const part of stream) {
    heard();
    characters += lengthOf(part);
    if (characters > MOST_CHARACTERS) throw new Error(`the answer has more than ${MOST_CHARACTERS} characters`);
    answer.add(part);
  }
  return answer.finish();
}

/** Arguments come in pieces, before their call does. */
function lengthOf(part: TextStreamPart<ToolSet>): number {
  if (part.type === 'tool-input-delta') return part.delta.length;
  return part.type === 'text-delta' || part.type === 'reasoning-delta' ? part.text.length : 0;
}

type SpokenPart = Exclude<AssistantPart, { type: 'tool-call' }>;

interface AnswerParts {
  tools: ModelTool[];
  onDelta: (delta: ModelDelta) => void;
  problems: ReadonlyMap<string, string>;
  clearedTokens: ProviderTraits['clearedTokens'];
}

/** Collects a stream into an answer. */
class AnswerBuilder {
  readonly #tools: ModelTool[];
  readonly #onDelta: (delta: ModelDelta) => void;
  /** Why arguments were not parsed, by the provider's id of the call. */
  readonly #problems: ReadonlyMap<string, string>;
  readonly #parts: AssistantPart[] = [];
  readonly #open = new Map<string, SpokenPart>();
  readonly #called = new Set<string>();
  readonly #clearedTokens: ProviderTraits['clearedTokens'];
  #cleared: number | undefined;
  #end: { reason: FinishReason; raw: string | undefined; usage: LanguageModelUsage } | undefined;

  constructor({ tools, onDelta, problems, clearedTokens }: AnswerParts) {
    this.#tools = tools;
    this.#clearedTokens = clearedTokens;
    this.#onDelta = onDelta;
    this.#problems = problems;
  }

  add(part: TextStreamPart<ToolSet>): void {
    switch (part.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'reasoning-start':
      case 'reasoning-end':
        return this.#addText(part);
      case 'tool-call':
        return this.#addCall(part);
      case 'finish-step':
        this.#cleared = this.#clearedTokens?.(part.providerMetadata);
        return;
      case 'finish':
        this.#end = { reason: part.finishReason, raw: part.rawFinishReason, usage: part.totalUsage };
        return;
      case 'error':
        throw part.error;
      case 'abort':
        throw new Error(part.reason ?? 'the request was aborted');
      default:
        return;
    }
  }

  finish(): ModelAnswer {
    // The library ends a stream that has broken off like any other, without a reason of the provider.
    if (!this.#end || (this.#end.reason === 'other' && this.#end.raw === undefined)) throw new Error('the answer was cut off');
    const { reason, raw, usage } = this.#end;
    // Some gateways write the word that the library has for it.
    if (reason === 'error' || raw === 'error') throw new Error('the provider ended the answer with an error');
    if (reason === 'content-filter' && this.#parts.length === 0)
      throw Object.assign(new Error('the content filter of the provider removed the answer'), { code: 'content_filter' });
    if (reason === 'length') this.#refuseUnfinishedCall();
    const parts = this.#parts.filter((part) => part.type !== 'text' || part.text !== '');
    const { usage: used, ...measured } = usageOf(usage);
    const cutOff = CUT_OFF.find((end) => end === reason);
    const cleared = this.#cleared === undefined ? {} : { clearedTokens: tokens(this.#cleared) };
    return { parts, usage: { ...used, ...cleared }, ...measured, ...(cutOff && { cutOff }) };
  }

  /** A call without arguments may be one whose arguments were still to come. */
  #refuseUnfinishedCall(): void {
    const last = this.#parts.at(-1);
    if (last?.type === 'tool-call' && Object.keys(last.arguments).length === 0) last.unreadable ??= 'The answer was cut off before the arguments were complete';
  }

  #addText(part: TextStreamPart<ToolSet> & { type: 'text-delta' | 'reasoning-delta' | 'reasoning-start' | 'reasoning-end' }): void {
    const type = part.type === 'text-delta' ? 'text' : 'reasoning';
    const key = `${type} ${part.id}`;
    const open: SpokenPart = this.#open.get(key) ?? { type, text: '' };
    if (!this.#open.has(key)) this.#parts.push(open);
    this.#open.set(key, open);
    if (open.type === 'reasoning' && part.providerMetadata) open.providerMetadata = part.providerMetadata as JsonObject;
    if (!('text' in part) || part.text === '') return;
    open.text += part.text;
    this.#onDelta({ type, text: part.text });
  }

  #addCall(part: TextStreamPart<ToolSet> & { type: 'tool-call' }): void {
    const { providerMetadata } = part;
    const input: unknown = part.input;
    // A provider that sends an event twice has not made two calls. Where all calls of an answer have one id, the library gives them others.
    const same = JSON.stringify([part.toolCallId, part.toolName, input]);
    if (this.#called.has(same)) return;
    this.#called.add(same);
    const unreadable = this.#problems.get(part.toolCallId) ?? problemOf(input);
    this.#parts.push({
      type: 'tool-call',
      callId: '',
      tool: this.#tools.find(({ name }) => name === part.toolName)?.tool ?? part.toolName,
      arguments: isObject(input) ? input : {},
      ...(unreadable !== undefined && { unreadable }),
      ...(providerMetadata && { providerMetadata: providerMetadata as JsonObject }),
    });
  }
}

function usageOf({ inputTokens, outputTokens, inputTokenDetails }: LanguageModelUsage): Pick<ModelAnswer, 'usage' | 'isUnmeasured'> {
  // Some of the library's providers leave the details out.
  const { cacheReadTokens, cacheWriteTokens } = (inputTokenDetails as LanguageModelUsage['inputTokenDetails'] | undefined) ?? {};
  const used = { inputTokens: tokens(inputTokens), outputTokens: tokens(outputTokens) };
  return {
    usage: {
      ...used,
      ...(cacheReadTokens !== undefined && { cacheReadTokens: tokens(cacheReadTokens) }),
      ...(cacheWriteTokens !== undefined && { cacheWriteTokens: tokens(cacheWriteTokens) }),
    },
    // Every prompt has tokens: without any, what was used is not known, whatever was written in its place.
    ...(used.inputTokens + used.outputTokens === 0 && { isUnmeasured: true }),
  };
}

/** A gateway may report any number. */
function tokens(reported: number | undefined): number {
  return reported !== undefined && Number.isFinite(reported) ? Math.min(Math.max(0, Math.round(reported)), MOST_TOKENS) : 0;
}

function problemOf(input: unknown): string | undefined {
  return isObject(input) ? undefined : `The arguments are no JSON object: ${clip(typeof input === 'string' ? input : JSON.stringify(input))}`;
}

function clip(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
