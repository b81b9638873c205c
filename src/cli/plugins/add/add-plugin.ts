import { stat } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { failure, isFailure } from '../../../contracts/errors.ts';
import { writeAgentFiles } from '../../../definitions/edit/agent-files.ts';
import { bringPlugin } from '../../../plugins/add/bring-plugin.ts';
import { isForPackages, nameOfOrigin, readOrigin, type PluginOrigin } from '../../../plugins/add/read-origin.ts';
import { openStaging, placeDirectory, recoverPlace, type Staging } from '../../../plugins/add/staging.ts';
import { pluginInvalid } from '../../../plugins/api/plugin-invalid.ts';
import { digestOf } from '../../../plugins/manager/pins.ts';
import { confirmed } from '../../output/confirmed.ts';
import { EXIT, printLine, type Cli } from '../../output/cli.ts';
import { openPluginLoading, type CheckedPlugin, type PluginLoading } from '../check/plugin-loading.ts';
import { readEntries, refuseTaken, type AgentEntries } from './agent-entries.ts';
import { changesOf, type PluginVersion } from './changes.ts';
import { digestsOfPlace, entriesAfter, entryFor, programsThatPin, sourcesOfPlace, type Pinned } from './plugin-entries.ts';
import { showPlan, tellDone, type AddPlan } from './tell-plan.ts';

export interface AddOptions {
  agent?: string[];
  directory?: string;
  yes?: boolean;
  json?: boolean;
}

/** Brings a plugin into the directory of plugins and pins it, after a person has seen what it may do. @throws the error of the plugin */
export async function addPlugin(cli: Cli, given: string, options: AddOptions): Promise<void> {
  if (options.json && !options.yes) throw failure('INVALID_ARGUMENT', { what: '--json', problem: 'it leaves no place for a question', fix: 'Add --yes' });
  const stop = new AbortController();
  const forget = cli.onInterrupt(() => stop.abort(new Error('interrupted')));
  try {
    if (await addUnlessStopped(cli, given, options, stop.signal)) return;
    printLine(cli, 'Nothing was added.');
    cli.exitCode = stop.signal.aborted ? EXIT.interrupted : EXIT.failed;
  } catch (error) {
    if (!stop.signal.aborted || isFailure(error)) throw error;
    printLine(cli, 'Nothing was added.');
    cli.exitCode = EXIT.interrupted;
  } finally {
    forget();
  }
}

/** False where the person does not agree. */
async function addUnlessStopped(cli: Cli, given: string, options: AddOptions, signal: AbortSignal): Promise<boolean> {
  const { agent: wanted = [], yes = false, json = false } = options;
  const entries = await readEntries(cli, wanted);
  const origin = await readOrigin(given, process.cwd());
  const parent = resolve(options.directory ?? join(entries.directory, '../plugins'));
  await using staging = await openStaging(parent, nameOfOrigin(origin));
  const plan = await makePlan(cli, { given, origin, parent, entries, wanted, staging, signal });
  if (!json) showPlan(cli, plan);
  if (plan.isNew || plan.files.length > 0) {
    if (!yes && !(await confirmed(cli, 'plugins add', questionOf(plan), signal))) return false;
    signal.throwIfAborted();
    await carryOut(plan, staging);
  }
  tellDone(cli, plan, json);
  return true;
}

interface Adding {
  given: string;
  origin: PluginOrigin;
  /** Directory of plugins. */
  parent: string;
  entries: AgentEntries;
  wanted: string[];
  staging: Staging;
  signal: AbortSignal;
}

async function makePlan(cli: Cli, adding: Adding): Promise<AddPlan> {
  const { given, origin, parent, entries, wanted, staging, signal } = adding;
  const source = await bringPlugin(origin, { given, staging, agents: entries.directory, signal });
  await using loading = openPluginLoading(cli);
  const checked = await loading.load(`./${basename(staging.root)}`, staging.directory).catch((error: unknown) => {
    throw asGiven(error, adding);
  });
  const plugin = onlyOne(given, checked);
  const name = plugin.id.split('/').at(-1) ?? '';
  if (isForPackages(name)) throw pluginInvalid(given, `its id ${plugin.id} is not usable for a directory of plugins`, 'Give it another id');
  const place = join(parent, name);
  const server = [...entries.agents.values()].find(({ mcp = {} }) => Object.hasOwn(mcp, plugin.id));
  if (server) throw failure('PLUGIN_COLLISION', { id: plugin.id, first: `an MCP server of agent ${server.id}`, second: given });
  await refuseTaken(loading, entries, { id: plugin.id, as: given, place });
  await recoverPlace(place);
  const before = await versionIn(loading, place, { ...adding, digest: checked.digest, id: plugin.id });
  const pinned: Pinned = { place, source, digest: checked.digest, plugin, before: before?.plugin };
  const files = await entriesAfter(entries, wanted, pinned);
  return {
    checked,
    pinned,
    pinnedDigests: digestsOfPlace(entries, place),
    isNew: before?.digest !== checked.digest,
    before,
    changes: before?.plugin ? changesOf(before as PluginVersion, { plugin, requirements: checked.requirements, source }) : [],
    files,
    programs: programsThatPin(entries, place),
    entry: entryFor(entries.directory, pinned),
  };
}

/** The directory in which a plugin waits means nothing to a person. */
function asGiven(error: unknown, { given, staging: { directory } }: Adding): unknown {
  if (!isFailure(error, 'PLUGIN_INVALID')) return error;
  const { problem = '', fix = '' } = error.values;
  return pluginInvalid(given, String(problem).replaceAll(`${directory}/`, ''), String(fix).replaceAll(`${directory}/`, ''), error);
}

function onlyOne(given: string, { plugins, problems }: CheckedPlugin) {
  const [plugin] = plugins;
  if (plugin && problems.length === 0) return plugin;
  throw pluginInvalid(given, problems.join('; ') || 'it has no plugin', 'It can be added when that is corrected');
}

/** What is in the place of the plugin. Only what was added may be replaced: anything else is somebody's work. */
async function versionIn(
  loading: PluginLoading,
  place: string,
  { entries, digest, id, parent }: Adding & { digest: string; id: string },
): Promise<AddPlan['before']> {
  const found = await stat(place).catch(() => undefined);
  if (!found) return undefined;
  const shown = relative(process.cwd(), place);
  if (!found.isDirectory()) {
    const fix = 'Move it away, or give another --directory';
    throw failure('INVALID_ARGUMENT', { what: 'source', problem: `${shown} exists, and is no directory`, fix });
  }
  const present = await digestOf(place);
  const [source] = sourcesOfPlace(entries, place);
  if (present !== digest && source === undefined) {
    const fix = 'Move it away, give another --directory, or write the entry that was printed when it was added into the file of an agent';
    throw failure('INVALID_ARGUMENT', { what: 'source', problem: `${shown} exists, and no agent's file says from where it was added`, fix });
  }
  try {
    const { plugins, requirements } = await loading.load(`./${basename(place)}`, parent);
    const [plugin] = plugins;
    if (plugin && plugin.id !== id) {
      throw failure('INVALID_ARGUMENT', {
        what: 'source',
        problem: `${shown} is the plugin "${plugin.id}", and this one is "${id}"`,
        fix: 'Give another --directory',
      });
    }
    return { digest: present, requirements, source, plugin };
  } catch (error) {
    if (isFailure(error, 'INVALID_ARGUMENT')) throw error;
    return { digest: present, requirements: [], source, problem: (error as Error).message };
  }
}

function questionOf({ pinned, before, isNew }: AddPlan): string {
  if (!isNew) return 'Write this into the files of agents?';
  return before ? `Replace ${pinned.plugin.id} by this version?` : `Add ${pinned.plugin.id}?`;
}

async function carryOut({ pinned, before, isNew, files }: AddPlan, staging: Staging): Promise<void> {
  const { place, digest } = pinned;
  if (!isNew) return writeAgentFiles(files);
  await placeDirectory(staging.root, place, {
    async check() {
      const changed = (what: string) => failure('INVALID_ARGUMENT', { what, problem: 'its files were changed meanwhile', fix: 'Try again' });
      if ((await digestOf(staging.root)) !== digest) throw changed('source');
      const present = (await stat(place).catch(() => undefined)) ? await digestOf(place) : undefined;
      if (present !== before?.digest) throw changed(place);
    },
    complete: () => writeAgentFiles(files),
  });
}
