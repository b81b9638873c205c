/** What has to hold. */
export const RULES = {
  lost: 'nothing is lost: every conversation ends, and every call takes effect',
  doubled: 'nothing is doubled: no call takes effect twice',
  transcript: 'every transcript is what the agent and its user said',
  result: 'every call has exactly one result',
  reported: 'nothing is reported that did not happen, and a reader of events has what is stored',
  told: 'what cannot be done is refused with an error that says why',
  recovery: 'all parts work soon after a fault',
  ended: 'no process ends that was not ended',
  grown: 'nothing grows under a steady load',
  left: 'nothing is left',
} as const;
export type Rule = keyof typeof RULES;

export interface Problem {
  rule: Rule;
  what: string;
}

export interface Verdict {
  problems: readonly Problem[];
  add(...problems: Problem[]): void;
}

/** Collects what broke a rule, and says it at once. */
export function createVerdict(say: (line: string) => void): Verdict {
  const problems: Problem[] = [];
  return {
    problems,
    add(...found) {
      for (const problem of found) say(`BROKEN ${problem.rule}: ${problem.what}`);
      problems.push(...found);
    },
  };
}

/** A line for each rule that was tested. */
export function summaryOf(problems: readonly Problem[], rules: readonly Rule[]): string[] {
  return rules.map((rule) => {
    const count = problems.filter((problem) => problem.rule === rule).length;
    return `${count === 0 ? 'holds ' : 'BROKEN'} ${rule}: ${RULES[rule]}${count === 0 ? '' : ` (${count} times not)`}`;
  });
}
