import { createLogger } from '../../../platform/log.ts';
import type { Plugin } from '../../../plugins/api/define-plugin.ts';
import type { OpenPluginSandboxes } from '../../../plugins/dialects/shared/plugin-dialect.ts';
import { openIsolates, type Isolates } from '../../../plugins/isolates/load-isolated.ts';
import { rootOf } from '../../../plugins/load/locate-plugin.ts';
import { pluginSandboxesOf } from '../../../plugins/load/plugin-sandboxes.ts';
import { requirementsOf } from '../../../plugins/load/requirements-of.ts';
import { problemOfOwnVariables } from '../../../plugins/manager/own-variables.ts';
import { digestOf } from '../../../plugins/manager/pins.ts';
import { loadSource } from '../../../plugins/manager/plugin-source.ts';
import type { Cli } from '../../output/cli.ts';

/** What a plugin offers and wants. Its processes have ended. */
export interface CheckedPlugin {
  plugins: Plugin[];
  /** Packages that it needs. */
  requirements: string[];
  /** Of its files, or why there is none. */
  digest: string;
  problems: string[];
}

/** Loads plugins as a worker does, but without the worker's configuration, variables and `load`. */
export interface PluginLoading extends AsyncDisposable {
  /** @param directory where the name is looked up. @throws the error of the plugin */
  load(name: string, directory: string): Promise<CheckedPlugin>;
}

export function openPluginLoading(cli: Cli): PluginLoading {
  let isolates: Promise<Isolates> | undefined;
  const open = () => openIsolates({ log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }), weaklyFenced: cli.config().LONGSHORE_WEAKLY_FENCED_PLUGINS });
  const desk = openDesk(cli);
  return {
    async load(name, directory) {
      const opened = await (isolates ??= open());
      await using loaded = await loadSource({ name, pins: [] }, { directory, hostPlugins: [], isolates: opened, sandboxes: desk.sandboxes });
      const requirements = await requirementsOf(name, directory);
      const digest = await digestOf(await rootOf(name, directory)).catch((error: unknown) => `none: ${(error as Error).message}`);
      const problems = [...loaded.problems, ...loaded.plugins.flatMap((plugin) => problemOfOwnVariables(plugin) ?? [])];
      return { plugins: loaded.plugins, requirements, digest, problems: problems.map(({ message }) => message) };
    },
    async [Symbol.asyncDispose]() {
      await desk[Symbol.asyncDispose]();
      await (await isolates)?.[Symbol.asyncDispose]();
    },
  };
}

/** Sandboxes for a plugin that needs one to say what it offers. Opened only for that. */
function openDesk(cli: Cli): AsyncDisposable & { sandboxes: OpenPluginSandboxes } {
  const opened: AsyncDisposable[] = [];
  const kept = <Opened extends AsyncDisposable>(one: Opened): Opened => {
    opened.unshift(one);
    return one;
  };
  const open = async () => {
    const config = cli.config();
    const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
    // Loaded here, since most plugins need neither of them.
    const [{ openStore }, { createSandboxes }] = await Promise.all([import('../../../store/open-store.ts'), import('../../../sdk/backends.ts')]);
    const store = kept(await openStore({ url: config.DATABASE_URL, log, poolSize: 2, blobs: config, migrate: config.LONGSHORE_MIGRATE }));
    const sandboxes = kept(await createSandboxes({ config, store, log, role: 'visitor' }));
    return pluginSandboxesOf(config, { sandboxes, store, log });
  };
  let desk: ReturnType<typeof open> | undefined;
  return {
    sandboxes: () => (desk ??= open()),
    async [Symbol.asyncDispose]() {
      for (const one of opened) await one[Symbol.asyncDispose]();
    },
  };
}
