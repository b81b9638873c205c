import { relative } from 'node:path';
import type { JsonObject } from '../../../contracts/json.ts';
import type { ChangedFile } from '../../../definitions/edit/agent-files.ts';
import { yamlLine } from '../../../definitions/edit/edit-yaml.ts';
import type { Plugin } from '../../../plugins/api/define-plugin.ts';
import { printFact, printJson, printLine, type Cli } from '../../output/cli.ts';
import { describePlugins, printPlugins } from '../check/check-plugin.ts';
import type { CheckedPlugin } from '../check/plugin-loading.ts';
import type { Pinned } from './plugin-entries.ts';

/** What is to be done, if a person agrees. */
export interface AddPlan {
  checked: CheckedPlugin;
  pinned: Pinned;
  /** What is in the place now. Without `plugin`, it cannot be loaded. */
  before?: { digest: string; requirements: string[]; source?: string | undefined; plugin?: Plugin | undefined; problem?: string } | undefined;
  /** The digests by which agents pin what is in the place. */
  pinnedDigests: string[];
  /** Whether its files are not in the place yet. */
  isNew: boolean;
  changes: string[];
  files: ChangedFile[];
  /** Agents whose files pin it and are programs. */
  programs: string[];
  /** For the file of an agent. */
  entry: JsonObject;
}

export function showPlan(cli: Cli, { checked, pinned, before, pinnedDigests, isNew, changes, files }: AddPlan): void {
  printPlugins(cli, checked);
  printFact(cli, `source: ${pinned.source}`);
  printFact(cli, `directory: ${relative(process.cwd(), pinned.place)}`);
  if (before && isNew) {
    printLine(cli);
    printLine(cli, 'What changes:');
    for (const line of before.problem === undefined ? changes : [`this is not known, since what is there cannot be loaded: ${before.problem}`])
      printFact(cli, `  ${line}`);
    printFact(cli, `  files: ${before.digest} -> ${pinned.digest}`);
    for (const digest of pinnedDigests) if (digest !== before.digest) printFact(cli, `  what is there now is not what was pinned: ${digest}`);
  }
  if (files.length === 0) return;
  printLine(cli);
  for (const { file } of files) printFact(cli, `is written into ${relative(process.cwd(), file.path)}`);
}

export function tellDone(cli: Cli, plan: AddPlan, json: boolean): void {
  const { checked, pinned, before, isNew, changes, files, programs, entry } = plan;
  const { id, version } = pinned.plugin;
  if (json) {
    const { source, digest, place: directory } = pinned;
    const [described] = describePlugins(checked);
    return printJson(cli, {
      plugin: described,
      source,
      digest,
      directory,
      added: isNew,
      ...(before && isNew && { changes, replaced: before.digest }),
      agents: files.map(({ file }) => file.id),
      entry,
    });
  }
  printLine(cli);
  printFact(
    cli,
    isNew ? `Added ${id} ${version}.` : files.length > 0 ? `Pinned ${id} ${version}.` : `${id} ${version} is there already, and nothing has changed.`,
  );
  if (programs.length > 0) printFact(cli, `The files of these agents pin it and are programs, so change their entries yourself: ${programs.join(', ')}`);
  if (files.length === 0 || programs.length > 0) printFact(cli, `In the file of an agent:  plugins: [${yamlLine(entry)}]`);
  if (pinned.plugin.tools.some(({ isolation }) => isolation === 'own')) {
    printLine(cli, 'It reaches those hosts that its entry names:  permissions: { network: [ … ] }');
  }
  printFact(cli, `Its tools are called if the agent has them:  tools: ['${id}:*']`);
  printLine(cli, 'Workers read the files of agents when they start.');
}
