import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runLine, type CliResult, type LineOptions } from '../../support.ts';

/** A directory with agents and plugins. */
export interface Project extends AsyncDisposable {
  directory: string;
  path(...parts: string[]): string;
  write(name: string, text: string): Promise<void>;
  read(name: string): Promise<string>;
  /** The names in the directory of plugins, hidden ones too. */
  plugins(): Promise<string[]>;
  line(args: string[], options?: LineOptions): Promise<CliResult>;
}

export const AGENT = 'model: scripted/none.yaml\n';

export async function makeProject(): Promise<Project> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-add-test-'));
  const path = (...parts: string[]) => join(directory, ...parts);
  const project: Project = {
    directory,
    path,
    async write(name, text) {
      await mkdir(dirname(path(name)), { recursive: true });
      await writeFile(path(name), text);
    },
    read: (name) => readFile(path(name), 'utf8'),
    plugins: () => readdir(path('plugins')).catch(() => []),
    line: (args, options = {}) =>
      runLine(undefined, args, { ...options, environment: { ...process.env, LONGSHORE_AGENTS: path('agents'), LONGSHORE_TEMPLATES: path('templates') } }),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
  await mkdir(path('templates'));
  await project.write('agents/fixer.yaml', AGENT);
  return project;
}

interface Words {
  id?: string;
  version?: string;
  description?: string;
  permissions?: object;
  tools?: string[];
}

/** The source of a plugin. */
export function words({ id = 'words', version = '1.0.0', description = 'Counts words.', permissions = {}, tools = ['count'] }: Words = {}): string {
  const about = { description, parameters: { type: 'object', properties: {} }, permissions };
  return `import { definePlugin, defineTool } from 'longshore/plugins';
const about = ${JSON.stringify(about)};
const tools = ${JSON.stringify(tools)}.map((id) => defineTool({ id, ...about, execute: () => 1 }));
export default definePlugin({ id: ${JSON.stringify(id)}, version: ${JSON.stringify(version)}, description: 'Words', tools });
`;
}

/** A project for each test, with settings and caches of git and npm of its own. */
export function useProject(take: (project: Project) => void): void {
  const before = { ...process.env };
  let project: Project;
  beforeEach(async () => {
    project = await makeProject();
    process.env['GIT_CONFIG_GLOBAL'] = project.path('gitconfig');
    process.env['npm_config_cache'] = project.path('npm-cache');
    process.env['npm_config_fetch_retries'] = '0';
    take(project);
  });
  afterEach(async () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
    await project[Symbol.asyncDispose]();
  });
}
