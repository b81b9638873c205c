import type { Longshore, PluginState } from '../../client.ts';
import { printFact, printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';

export async function listPlugins(cli: Cli, longshore: Longshore, json: boolean): Promise<void> {
  const states = await longshore.plugins.list();
  if (json) return printJson(cli, states);
  if (states.length === 0) return printLine(cli, 'No plugins. A worker reports the plugins that agents name when it starts.');
  const rows = states.map((state) => {
    const heard = heardOf(state);
    const [report] = heard;
    const healths = new Set(heard.map(stateOf));
    const permissions = Object.keys(report?.permissions ?? {}).join(' ') || 'none';
    return [state.id, report?.version ?? '', report?.dialect ?? '', [...healths].join('/'), String(report?.tools.length ?? 0), permissions, noteOf(state)];
  });
  printTable(cli, ['PLUGIN', 'VERSION', 'DIALECT', 'HEALTH', 'TOOLS', 'PERMISSIONS', 'NOTE'], rows);
}

/** The reports of present workers; when no worker is present, the last reports. */
function heardOf({ reports }: PluginState): PluginState['reports'] {
  const present = reports.filter(({ away }) => !away);
  return present.length > 0 ? present : reports;
}

function stateOf({ health, asleep, away }: PluginState['reports'][number]): string {
  if (away) return 'away';
  return asleep ? 'sleeping' : health;
}

/** Who applies a change, as the end of a sentence. */
export function whoFollows(...states: PluginState[]): string {
  return states.some(({ reports }) => reports.some(({ away }) => !away))
    ? 'the workers apply it within seconds'
    : 'no worker has reported for some minutes; it takes effect when one starts';
}

const NOTE_LENGTH = 100;

/** The most important problem of the plugin. */
function noteOf(state: PluginState): string {
  const { configProblem } = state;
  const reports = heardOf(state);
  if (reports.every(({ away }) => away)) return `no worker of ${reports.map(({ hostId }) => hostId).join(', ')} reports its state; start one: longshore worker`;
  const error = reports.map((report) => report.error).find((text) => text !== undefined);
  const alert = reports.flatMap(({ alerts }) => alerts).find(({ level }) => level !== 'info')?.text;
  const text =
    (error ?? (configProblem === undefined ? alert : `configuration rejected, the previous one is in use: ${configProblem}`) ?? '').split('\n')[0] ?? '';
  return text.length <= NOTE_LENGTH ? text : `${text.slice(0, NOTE_LENGTH)}… (more: longshore plugins show ${state.id})`;
}

export async function describePlugin(cli: Cli, longshore: Longshore, id: string, json: boolean): Promise<void> {
  const state = await longshore.plugins.get(id);
  if (json) return printJson(cli, state);
  const { config, configVersion, configProblem, enabled, reports } = state;
  printFact(cli, `${state.id}: ${enabled ? 'enabled' : 'disabled'}`);
  printFact(cli, `configuration (version ${configVersion}): ${JSON.stringify(config)}`);
  if (configProblem !== undefined) printFact(cli, `the newest change was rejected, the previous configuration is in use: ${configProblem}`);
  if (Object.keys(state.granted).length > 0) printFact(cli, `granted by operators: ${shown(state.granted)}`);
  for (const report of reports) for (const line of reportLines(report)) printFact(cli, line);
}

function shown(permissions: object): string {
  return Object.keys(permissions).length === 0 ? 'none' : JSON.stringify(permissions);
}

/** When a newer version could not replace the running one, its denied permissions need not be among those that the running one asks for. */
function permissionLines({ permissions, ungranted = {}, denied }: PluginState['reports'][number]): string[] {
  const granted = Object.entries(permissions).flatMap(([name, value]) => {
    const refused = (ungranted[name] ?? []) as string[];
    const kept = Array.isArray(value) ? value.filter((item) => !refused.includes(item as string)) : value;
    return Array.isArray(kept) && kept.length === 0 ? [] : [[name, kept] as const];
  });
  const isWhole = Object.keys(ungranted).length === 0;
  return [
    `  permissions  ${shown(permissions)}`,
    `  granted      ${shown(Object.fromEntries(granted))}`,
    ...(isWhole
      ? []
      : [denied ? `  denied       ${shown(ungranted)}` : `  not granted  ${shown(ungranted)}; it has them anyway, because NODE_ENV is not "production"`]),
  ];
}

function reportLines(report: PluginState['reports'][number]): string[] {
  const { hostId, name, version = '', dialect = 'unknown dialect', description = '', tools, alerts, error, configSchema, at } = report;
  return [
    '',
    `on ${hostId}: ${stateOf(report)}, since ${at.slice(0, 19).replace('T', ' ')}`,
    `  from         ${name}`,
    `  what         ${[dialect, version, description].filter((part) => part !== '').join(', ')}`,
    `  tools        ${tools.join(', ') || 'none'}`,
    ...permissionLines(report),
    ...(configSchema ? [`  takes        ${JSON.stringify(configSchema)}`] : []),
    ...alerts.map(({ level, text, at: when }) => `  ${level.padEnd(12)} ${when}: ${text}`),
    ...(error === undefined ? [] : error.split('\n').map((line) => `  error        ${line}`)),
  ];
}
