import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { PluginPin } from '../../../src/contracts/agent.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { createLogger, type Logger } from '../../../src/platform/log.ts';
import { definePlugin, type ToolContext } from '../../../src/plugins/api/define-plugin.ts';
import { openIsolates, type Isolates } from '../../../src/plugins/isolates/load-isolated.ts';
import type { ManagerOptions } from '../../../src/plugins/manager/manager-options.ts';
import { openPluginManager, type PluginManager } from '../../../src/plugins/manager/plugin-manager.ts';
import type { PluginReport, PluginSettings } from '../../../src/store/plugin-rows.ts';
import { contextOf } from '../isolates/support.ts';
import { echoTool } from '../tools.ts';

/** Settings and reports as the store keeps them, in memory. */
export class FakeStates {
  readonly rows = new Map<string, PluginSettings>();
  readonly written = new Map<string, PluginReport>();

  want(pluginId: string, change: Partial<PluginSettings>): void {
    const before = this.rows.get(pluginId) ?? { pluginId, enabled: true, config: {}, configVersion: 0, reloads: 0, granted: {}, updatedAt: '' };
    this.rows.set(pluginId, { ...before, ...change });
  }

  async settings(): Promise<PluginSettings[]> {
    return [...this.rows.values()];
  }

  async takeBackConfig(pluginId: string, version: number, configProblem: string): Promise<void> {
    this.want(pluginId, { configVersion: version + 1, config: {}, configProblem });
  }

  async report(_hostId: string, report: PluginReport): Promise<void> {
    this.written.set(report.name, report);
  }

  async forget(_hostId: string, names: string[]): Promise<void> {
    for (const name of this.written.keys()) if (!names.includes(name)) this.written.delete(name);
  }

  async stillHere(): Promise<void> {}

  // The tests call the manager's own follow.
  async *follow(): AsyncGenerator<void> {}
}

export interface Workbench extends AsyncDisposable {
  directory: string;
  states: FakeStates;
  logged: string[];
  variables: Record<string, string>;
  write(path: string, text: string): Promise<void>;
  open(names: string[], more?: Partial<ManagerOptions> & { pins?: Record<string, PluginPin> }): Promise<PluginManager>;
}

export async function openManagerBench(isolates: Isolates | undefined): Promise<Workbench> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-manager-'));
  const logged: string[] = [];
  const write = (values: { err?: Error }, text: string) => logged.push(`${text}${values.err ? `: ${values.err.message}` : ''}`);
  const log = { info: write, warn: write, error: write, child: () => log } as unknown as Logger;
  const states = new FakeStates();
  const variables: Record<string, string> = {};
  const managers: PluginManager[] = [];
  return {
    directory,
    states,
    logged,
    variables,
    async write(path, text) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), text);
    },
    async open(names, { pins = {}, ...more } = {}) {
      const manager = await openPluginManager({
        sources: names.map((name) => ({ name, pins: pins[name] ? [pins[name]] : [], agents: ['agent'] })),
        directory,
        hostPlugins: [],
        isolates,
        builtins: () => [definePlugin({ id: 'builtin', tools: [echoTool('echo')] })],
        store: states,
        hostId: 'host-1',
        environment: (name) => variables[name],
        log,
        ...more,
      });
      managers.push(manager);
      return manager;
    },
    async [Symbol.asyncDispose]() {
      for (const manager of managers) await manager[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

/** Source of a plugin with one tool `run`, by the body of its execute; `more` are further keys. */
export function sourceOf(id: string, body: string, more = ''): string {
  return `import { definePlugin, defineTool } from 'longshore/plugins';
    let configured: unknown;
    export default definePlugin({ id: '${id}', version: '1', ${more} tools: [defineTool({ id: 'run', description: 'Runs', parameters: { type: 'object' },
      async execute(input: any, context: any) { ${body} } })] });`;
}

/** Calls a tool as an activity does: by its id, with the configuration of the moment. */
export function call(manager: PluginManager, id: string, more: Partial<ToolContext> = {}): Promise<unknown> {
  const tool = manager.registry.get(id);
  if (!tool) return Promise.reject(new Error(`no tool ${id}`));
  const config: JsonObject = manager.configOf(tool.pluginId);
  return tool.execute({}, contextOf('conv-1', { config, ...more }));
}

/** Isolated processes for all tests of a file, and a bench for each. */
export function useManagerBench(take: (opened: { isolates: Isolates; bench: Workbench }) => void): void {
  let isolates: Isolates;
  let bench: Workbench;
  beforeAll(async () => {
    isolates = await openIsolates({ log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) });
  });
  afterAll(() => isolates[Symbol.asyncDispose]());
  beforeEach(async () => {
    bench = await openManagerBench(isolates);
    take({ isolates, bench });
  });
  afterEach(() => bench[Symbol.asyncDispose]());
}
