/** The table of a league: results are kept for a conversation, and code in the sandbox brings them in and works with the table. */
import { NekroPlugin, SandboxMethodType, type AgentCtx } from 'longshore/nekro';
import { isGoals, readMatches, standingsOf, writeCsv, type Match } from './standings.ts';

const { TOOL, BEHAVIOR, AGENT } = SandboxMethodType;

const plugin = new NekroPlugin({
  name: 'League',
  moduleName: 'league',
  description: 'Results and the table of a league',
  version: '1.0.0',
  author: 'longshore',
});

const entryOf = (ctx: AgentCtx) => ({ chatKey: ctx.chatKey, storeKey: 'matches' });

async function matchesOf(ctx: AgentCtx): Promise<Match[]> {
  return ((await plugin.store.get(entryOf(ctx))) as Match[] | undefined) ?? [];
}

/** Calls may run side by side: who finds that another was faster adds to what that one wrote. */
async function add(ctx: AgentCtx, more: Match[]): Promise<number> {
  for (;;) {
    const found = await plugin.store.entry(entryOf(ctx));
    const matches = [...((found?.value as Match[] | undefined) ?? []), ...more];
    if ((await plugin.store.set({ ...entryOf(ctx), value: matches, ifVersion: found?.version ?? 0 })) !== 2) return matches.length;
  }
}

/** Add the result of one match.
 *
 * Args:
 *     home (str): The team at home.
 *     away (str): Its guest.
 *     home_goals (int): Goals of the team at home.
 *     away_goals (int): Goals of its guest.
 *
 * Returns:
 *     int: How many matches are known now.
 *
 * Example:
 *     add_result('Harbour', 'Docks', 2, 1)
 */
plugin.mountSandboxMethod(
  TOOL,
  'Add a result',
  'Adds one match',
)(async function add_result(ctx: AgentCtx, home: string, away: string, home_goals: number, away_goals: number) {
  if (!isGoals(home_goals) || !isGoals(away_goals)) throw new Error('goals are whole numbers from 0 on');
  return add(ctx, [{ home, away, homeGoals: home_goals, awayGoals: away_goals }]);
});

/** Add all results of a CSV file of the sandbox with the columns home, away, home_goals, away_goals.
 *
 * Args:
 *     path (str): The file.
 *
 * Returns:
 *     int: How many matches are known now.
 */
plugin.mountSandboxMethod(
  TOOL,
  'Import results',
  'Adds the matches of a file',
)(async function import_results(ctx: AgentCtx, path: string) {
  return add(ctx, readMatches(new TextDecoder().decode(await ctx.fs.getFile(path))));
});

/** Get the table.
 *
 * Returns:
 *     list: From the first team to the last, a dict with team, played, points, goals and against.
 */
plugin.mountSandboxMethod(TOOL, 'Standings', 'Tells the table', { annotations: { readOnlyHint: true } })(async function standings(ctx: AgentCtx) {
  return standingsOf(await matchesOf(ctx));
});

/** Put the table into the sandbox as a CSV file.
 *
 * Args:
 *     file_name (str): Its name.
 *
 * Returns:
 *     str: Where it is.
 */
plugin.mountSandboxMethod(
  TOOL,
  'Export the table',
  'Writes the table to a file',
)(async function export_standings(ctx: AgentCtx, file_name = 'standings.csv') {
  return ctx.fs.mixedForwardFile(new TextEncoder().encode(writeCsv(standingsOf(await matchesOf(ctx)))), file_name);
});

/** Send the table to the user, with a picture of it.
 *
 * Args:
 *     picture (str): A PNG, JPEG, GIF or WebP file of the sandbox.
 */
plugin.mountSandboxMethod(
  BEHAVIOR,
  'Publish',
  'Sends the table to the user',
)(async function publish(ctx: AgentCtx, picture: string) {
  const rows = standingsOf(await matchesOf(ctx));
  await ctx.sendImage(picture);
  await ctx.sendFile(new TextEncoder().encode(writeCsv(rows)), 'standings.csv');
  return `The table of ${rows.length} teams has been sent to the user.`;
});

/** Look back on the season so far, to write about it. */
plugin.mountSandboxMethod(
  AGENT,
  'Review',
  'Has the season written about',
)(async function review_season(ctx: AgentCtx) {
  const matches = await matchesOf(ctx);
  const [first] = standingsOf(matches);
  if (!first) return 'No match has been played. Ask the user for results.';
  const lines = matches.map(({ home, away, homeGoals, awayGoals }) => `${home} ${homeGoals}:${awayGoals} ${away}`);
  return `Matches so far:\n${lines.join('\n')}\nFirst: ${first.team} with ${first.points} points.\nWrite two sentences about the season for the user.`;
});

export default plugin;
