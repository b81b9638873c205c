/** One match; goals as whole numbers. A type, since JSON is what it is kept as. */
export type Match = { home: string; away: string; homeGoals: number; awayGoals: number };

export type Row = { team: string; played: number; points: number; goals: number; against: number };

/** Three points for a win, one for a draw; then the difference of goals, then the goals, then the name. */
export function standingsOf(matches: Match[]): Row[] {
  const rows = new Map<string, Row>();
  const count = (team: string, goals: number, against: number) => {
    const row = rows.get(team) ?? { team, played: 0, points: 0, goals: 0, against: 0 };
    const points = goals > against ? 3 : goals === against ? 1 : 0;
    rows.set(team, { team, played: row.played + 1, points: row.points + points, goals: row.goals + goals, against: row.against + against });
  };
  for (const { home, away, homeGoals, awayGoals } of matches) {
    count(home, homeGoals, awayGoals);
    count(away, awayGoals, homeGoals);
  }
  const difference = ({ goals, against }: Row) => goals - against;
  const better = (a: Row, b: Row) => b.points - a.points || difference(b) - difference(a) || b.goals - a.goals || (a.team < b.team ? -1 : 1);
  return [...rows.values()].toSorted(better);
}

const COLUMNS = ['team', 'played', 'points', 'goals', 'against'] as const;

export function writeCsv(rows: Row[]): string {
  return [COLUMNS.join(','), ...rows.map((row) => COLUMNS.map((column) => quoted(String(row[column]))).join(','))].join('\n') + '\n';
}

function quoted(cell: string): string {
  return /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/**
 * Reads lines such as `Harbour,Docks,2,1`; a first line without numbers is a heading.
 * @throws an Error that names the line which is no match.
 */
export function readMatches(csv: string): Match[] {
  const lines = csv.split(/\r?\n/).filter((line) => line.trim() !== '');
  return lines.flatMap((line, index) => {
    const [home = '', away = '', ...goals] = line.split(',').map((cell) => cell.trim());
    const [homeGoals, awayGoals, ...more] = goals.map(Number);
    const isMatch = home !== '' && away !== '' && isGoals(homeGoals) && isGoals(awayGoals) && more.length === 0;
    if (isMatch) return [{ home, away, homeGoals, awayGoals }];
    if (index === 0 && goals.every((cell) => Number.isNaN(Number(cell)))) return [];
    throw new Error(`line ${index + 1} is no match: ${line.slice(0, 100)}; write home,away,home_goals,away_goals`);
  });
}

export function isGoals(value: number | undefined): value is number {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0;
}
