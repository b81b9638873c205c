import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Chat } from '../../../../src/client.ts';
import type { JsonObject } from '../../../../src/contracts/json.ts';
import { ownSandboxIdOf } from '../../../../src/plugins/dialects/shared/python/own-sandboxes.ts';
import { resultTextOf } from '../../../../src/tool-calls/results/tool-result.ts';
import { installAgents, until, type Installation, type ScriptedAgent, type ScriptedStep } from '../../support.ts';
import { ADDRESS, startStandIn, type StandIn } from './stand-in.ts';

/** A plugin of somebody else, and what shows that it works. */
export interface Original {
  /** On GitHub. Its directory is that below LONGSHORE_ORIGINALS, with `+` for the slash. */
  repository: string;
  /** The id of the plugin here. */
  id: string;
  /** With the address of what stands in for its service. */
  config: (service: StandIn) => JsonObject;
  /** What the agent does in each turn. */
  steps: (service: StandIn) => ScriptedStep[];
  message?: string;
  /** Among what the model and the user are told when the service was reached. */
  works: RegExp;
  /** What the service was asked then. */
  asks: string;
}

const DIRECTORY = process.env['LONGSHORE_ORIGINALS'];

/** Tries each plugin in one installation: without a permission for its service, and with one. */
export function tryOriginals(system: string, originals: Original[]): void {
  if (DIRECTORY === undefined) {
    process.stdout.write(
      'SKIPPED: the plugins of others. Put their repositories into a directory, as DIRECTORY/owner+name, and set LONGSHORE_ORIGINALS=DIRECTORY\n',
    );
    test.skip('the plugins of others: LONGSHORE_ORIGINALS does not name their directory', () => undefined);
    return;
  }
  describe(`plugins that others have written for ${system}`, () => {
    let service: StandIn;
    let installation: Installation;
    const rows: string[][] = [];
    const here = originals.filter(({ repository }) => existsSync(rootOf(repository)));
    beforeAll(async () => {
      service = await startStandIn();
      const agents = here.map(({ repository, id, steps }): [string, ScriptedAgent] => {
        const turn = [...steps(service), { say: 'Done.' }];
        return [agentOf(id), { plugins: [rootOf(repository)], tools: ['code:*', `${id}:*`], steps: [...turn, ...turn] }];
      });
      installation = await installAgents(Object.fromEntries(agents));
      Object.assign(installation.environment, { LONGSHORE_EGRESS_ADDRESSES: ADDRESS, HARBOUR_KEY: 'k' });
      await installation.startWorker().ready;
    }, 900_000);
    afterAll(async () => {
      await installation?.[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      process.stdout.write(`${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`);
    });

    test.each(here)(
      '$repository',
      async ({ repository, id, config, message = 'Begin.', works, asks }) => {
        const { plugins } = installation.longshore;
        const settings = config(service);
        if (Object.keys(settings).length > 0) {
          await plugins.configure(id, settings);
          await until(async () => {
            const { reports, configProblem } = await plugins.get(id);
            if (configProblem !== undefined) throw new Error(`the settings were refused: ${configProblem}`);
            return reports[0]?.configVersion === 1;
          }, 'the settings have come');
        }
        service.asked.length = 0;
        const chat = await installation.longshore.start({ agent: agentOf(id), user: 'user-1', message });
        await chat.reply();
        const denied = await toldIn(chat, 0);
        expect(denied).not.toMatch(works);
        expect(service.asked).toEqual([]);
        await plugins.grant(id, { network: [service.host] });
        const egress = async () => JSON.stringify((await installation.store.sandboxes.get(ownSandboxIdOf(id, 'default')))?.options['egress']);
        await until(async () => (await egress()).includes(ADDRESS), 'the grant has come');
        const before = (await chat.transcript()).at(-1)?.seq ?? 0;
        await chat.send(message);
        await chat.reply();
        const granted = await toldIn(chat, before);
        rows.push([repository, asks, shown(denied), shown(granted)]);
        expect(granted).toMatch(works);
        expect(service.asked).toContain(asks);
        await chat.close();
      },
      600_000,
    );
  });
  for (const { repository } of originals) if (!existsSync(rootOf(repository))) process.stdout.write(`SKIPPED: ${repository} is not in ${DIRECTORY}\n`);
}

const rootOf = (repository: string) => join(DIRECTORY ?? '', repository.replace('/', '+'));
const agentOf = (id: string) => id.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
const shown = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 300);

/** What the model was told by tools, and what the user was, after an entry. */
async function toldIn(chat: Chat, after: number): Promise<string> {
  return (await chat.transcript())
    .filter(({ seq }) => seq > after)
    .flatMap(({ entry }) => {
      if (entry.role === 'tool') return [resultTextOf(entry.content)];
      if (entry.role === 'note') return [entry.text];
      return entry.role === 'assistant' ? entry.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : [];
    })
    .join('\n');
}
