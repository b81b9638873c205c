import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

/** Whether a value fits no form of a union that has no text of its own. */
export function isUnnamedUnion(issue: Issue): issue is z.core.$ZodIssueInvalidUnion & { message: 'Invalid input' } {
  return issue.code === 'invalid_union' && issue.message === 'Invalid input';
}

/** What to say of a value: that a key is misspelt, since the one that was meant counts as missing because of it; else the first. */
export function worstIssue(issues: Issue[]): Issue | undefined {
  return issues.map(meantIssue).toSorted((a, b) => Number(isMisspelt(b)) - Number(isMisspelt(a)))[0];
}

/** Of a union: what is wrong with the value as the form that was most likely meant, the one that knows most of its keys. The issue itself where none was. */
function meantIssue(issue: Issue): Issue {
  if (!isUnnamedUnion(issue)) return issue;
  const forms = issue.errors.filter((issues) => !issues.some(({ code, path }) => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value')));
  const unknown = (issues: Issue[]) => issues.flatMap((one) => (isMisspelt(one) ? one.keys : [])).length;
  const [meant = []] = forms.toSorted((a, b) => unknown(a) - unknown(b) || a.length - b.length);
  const found = worstIssue(meant);
  return found ? { ...found, path: [...issue.path, ...found.path] } : issue;
}

function isMisspelt(issue: Issue): issue is z.core.$ZodIssueUnrecognizedKeys {
  return issue.code === 'unrecognized_keys';
}
