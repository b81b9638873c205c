import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { Agent } from '../contracts/agent.ts';
import { PDF } from '../contracts/attachments/media-type.ts';
import { failure } from '../contracts/errors.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { Usage } from '../contracts/usage.ts';
import type { Logger } from '../platform/log.ts';
import { anthropicEdits, clearedByAnthropic } from './anthropic-edits.ts';
import { fetchWithin } from './fetch-within.ts';
import type { LanguageModelOfProvider } from './measured-arguments.ts';
import { modelName } from '../common/model-name.ts';
import type { Model } from './model.ts';
import { createPrices, type Prices } from './prices/prices.ts';
import type { TakenMedia } from './media/prompt-media.ts';
import { createProviderModel } from './provider-model.ts';
import type { ProviderTraits } from './provider-traits.ts';
import { createScriptedModel } from './scripted-model.ts';
import { compactingOf } from './windows.ts';

/** The models of the agents, by their `model` strings. */
export interface Models {
  /** The agent's model. Fails with `MODEL_NOT_SUPPORTED` for an unusable string, and with `MODEL_AUTH` when its key is not set. */
  get(agent: Agent): Model;
  /** Whether the price of the agent's model is known. */
  isPriced(agent: Agent): boolean;
}

export interface PricedModels extends Models {
  /** What an answer of the agent's model costs that uses so much, in US dollars; null when the price is not known. */
  costOf(agent: Agent, usage: Usage): number | null;
}

interface Connection {
  apiKey: string;
  baseUrl: string | undefined;
}
interface Provider {
  /** Environment variable of the key. */
  variable: string;
  keyRequired: boolean;
  traits: Omit<ProviderTraits, 'model' | 'variable' | 'takes'>;
  /** Media types of files that its models read. */
  documents: readonly string[];
  connect(name: string, connection: Connection): LanguageModelOfProvider;
}

const PROVIDERS: Record<string, Provider> = {
  openai: {
    variable: 'OPENAI_API_KEY',
    keyRequired: true,
    documents: [PDF],
    // A conversation may stay open for longer than the provider keeps answers, so it must not refer to answers that the provider stores.
    traits: { optionsKey: 'openai', mediaInToolResults: true, defaults: { store: false, strictJsonSchema: false }, takesOutput: true },
    connect: (name, { apiKey, baseUrl }) => createOpenAI({ apiKey, fetch: fetchWithin, ...(baseUrl && { baseURL: baseUrl }) })(name),
  },
  anthropic: {
    variable: 'ANTHROPIC_API_KEY',
    keyRequired: true,
    documents: [PDF],
    traits: {
      optionsKey: 'anthropic',
      mediaInToolResults: true,
      cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      contextEdits: anthropicEdits,
      clearedTokens: clearedByAnthropic,
    },
    connect: (name, { apiKey, baseUrl }) => createAnthropic({ apiKey, fetch: fetchWithin, ...(baseUrl && { baseURL: baseUrl }) })(name),
  },
  google: {
    variable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    keyRequired: true,
    documents: [PDF],
    traits: { optionsKey: 'google', mediaInToolResults: true },
    connect: (name, { apiKey, baseUrl }) => createGoogleGenerativeAI({ apiKey, fetch: fetchWithin, ...(baseUrl && { baseURL: baseUrl }) })(name),
  },
  'openai-compatible': {
    variable: 'OPENAI_COMPATIBLE_API_KEY',
    keyRequired: false,
    documents: [],
    traits: { optionsKey: 'openaiCompatible', mediaInToolResults: false },
    connect: (name, { apiKey, baseUrl }) =>
      createOpenAICompatible({ name: 'openaiCompatible', baseURL: baseUrl ?? '', includeUsage: true, fetch: fetchWithin, ...(apiKey && { apiKey }) }).chatModel(
        name,
      ),
  },
};

/** Creates the models. Keys are read through `readEnvironment` when an agent's model is first used. */
export function createModels(dependencies: { readEnvironment: (name: string) => string | undefined; log: Logger; prices?: Prices }): PricedModels {
  const { prices = createPrices() } = dependencies;
  const made = new WeakMap<Agent, Model>();
  // Otherwise the library prints its warnings to the console, into the output of commands.
  globalThis.AI_SDK_LOG_WARNINGS = ({ warnings, provider, model }) =>
    dependencies.log.debug({ provider, model, warnings }, 'the model provider gave a warning');
  return {
    get(agent) {
      const model = made.get(agent) ?? withCost(createModel(agent, dependencies.readEnvironment), modelName(agent), prices);
      made.set(agent, model);
      return model;
    },
    isPriced: (agent) => prices.has(modelName(agent)),
    costOf: (agent, usage) => prices.costOf(modelName(agent), usage),
  };
}

/** Adds its cost to the usage of each answer. */
function withCost(model: Model, name: string, prices: Prices): Model {
  return {
    async answer(request, onDelta) {
      const { usage, ...answer } = await model.answer(request, onDelta);
      return { ...answer, usage: { ...usage, costUsd: answer.isUnmeasured ? null : prices.costOf(name, usage) } };
    },
  };
}

function createModel(agent: Agent, readEnvironment: (name: string) => string | undefined): Model {
  const slash = agent.model.indexOf('/');
  const [prefix, name] = [agent.model.slice(0, Math.max(slash, 0)), agent.model.slice(slash + 1)];
  if (prefix === 'scripted' && name) return createScriptedModel(name);
  const provider = Object.hasOwn(PROVIDERS, prefix) ? PROVIDERS[prefix] : undefined;
  if (!provider || !name) {
    throw failure('MODEL_NOT_SUPPORTED', {
      model: agent.model,
      problem: name && slash > 0 ? `there is no provider "${prefix}"` : 'it is not of the form provider/model',
      fix: `Name one of ${Object.keys(PROVIDERS).join(', ')} and a model, or scripted/<file.yaml>`,
    });
  }
  const { baseUrl, images, ...options } = agent.modelOptions;
  const connection = { apiKey: readEnvironment(provider.variable) ?? '', baseUrl: checkBaseUrl(agent.model, prefix, baseUrl) };
  if (provider.keyRequired && !connection.apiKey)
    throw failure('MODEL_AUTH', { model: agent.model, problem: `${provider.variable} is not set`, variable: provider.variable });
  return createProviderModel({
    languageModel: provider.connect(name, connection),
    traits: { ...provider.traits, takes: takenBy(agent.model, provider, images), model: agent.model, variable: provider.variable },
    options: { ...editsOf(agent, provider), ...options } satisfies JsonObject,
    secret: connection.apiKey,
  });
}

/** Options for the provider's own editing of prompts, where the agent's file asks for it. */
function editsOf(agent: Agent, { traits }: Provider): JsonObject {
  const { providerEdits = false, window, compactAt = 1 } = compactingOf(agent) ?? {};
  if (!providerEdits) return {};
  if (traits.contextEdits && window !== undefined) return traits.contextEdits({ window, compactAt });
  throw failure('MODEL_NOT_SUPPORTED', {
    model: agent.model,
    problem: traits.contextEdits ? 'context.providerEdits needs the window of the model, which is not known' : 'its provider does not edit prompts',
    fix: traits.contextEdits ? 'Set context.window' : 'Remove context.providerEdits from the file of the agent',
  });
}

/** What the agent's model takes besides texts; undefined where that is not known. */
export function takesOf({ model, modelOptions: { images = true } }: Agent): TakenMedia | undefined {
  const [prefix = ''] = model.split('/', 1);
  const provider = Object.hasOwn(PROVIDERS, prefix) ? PROVIDERS[prefix] : undefined;
  return provider && typeof images === 'boolean' ? takenBy(model, provider, images) : undefined;
}

/** A model of a provider may be one that reads texts only: nobody but the agent's author knows. */
function takenBy(model: string, { documents }: Provider, images: unknown = true): TakenMedia {
  if (typeof images === 'boolean') return { images, documents: images ? documents : [] };
  throw failure('MODEL_NOT_SUPPORTED', {
    model,
    problem: `modelOptions.images is ${JSON.stringify(images)}`,
    fix: 'Write true or false: whether the model sees images and documents',
  });
}

function checkBaseUrl(model: string, prefix: string, baseUrl: unknown): string | undefined {
  if (baseUrl === undefined && prefix !== 'openai-compatible') return undefined;
  if (typeof baseUrl === 'string' && URL.canParse(baseUrl) && /^https?:/i.test(baseUrl)) {
    const { username, password } = new URL(baseUrl);
    if (username === '' && password === '') return baseUrl.replace(/\/+$/, '');
    // No request can be made of it, and the error of each attempt would show the password.
    throw failure('MODEL_NOT_SUPPORTED', {
      model,
      problem: 'modelOptions.baseUrl has a name or a password in it',
      fix: 'Leave it out, and set modelOptions.headers: { Authorization: "Basic …" }, or the variable of the key',
    });
  }
  throw failure('MODEL_NOT_SUPPORTED', {
    model,
    problem: baseUrl === undefined ? 'modelOptions.baseUrl is missing' : `modelOptions.baseUrl ${JSON.stringify(baseUrl)} is not an http(s) URL`,
    fix: 'Set it to the address of the server, such as http://127.0.0.1:11434/v1',
  });
}
