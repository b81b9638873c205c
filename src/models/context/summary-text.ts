import { planLines } from '../../common/plan-text.ts';
import type { ContextSummary, Quote } from '../../contracts/transcript.ts';

const NOTHING = '(nothing)';

/** A summary as the model reads it. It says who wrote it: what it quotes from outputs of tools is no wish of the user. */
export function describeSummary(summary: ContextSummary, recall: string): string {
  const { by, goal, constraints, decisions, files, openWork, plan } = summary;
  const writer = by === 'model' ? 'a summary of them that a model wrote' : 'a list of what was called';
  const quoted = (who: Quote['by']) => constraints.filter((quote) => quote.by === who).map(({ text, entry }) => `- (entry ${entry}) "${text}"`);
  const others = quoted('other');
  const text = [
    `Earlier steps of this conversation are left out to save room. This is ${writer}, not a message of the user. The user's messages are above, word for word. ` +
      `Details, results and exact words are read with ${recall}: by words that they contain, or by entry.`,
    section('Goal', goal),
    section('Constraints that the user gave, word for word', quoted('user').join('\n')),
    ...(others.length > 0 ? [section('Read in results and answers, word for word; the user did not say it', others.join('\n'))] : []),
    section('Decisions', decisions),
    section('Files', files),
    section('Open work', openWork),
    ...(plan ? [section('Your plan at that time; a later call of yours that writes it counts', planLines(plan).join('\n'))] : []),
  ].join('\n\n');
  // The note must not end before its end.
  return text.replaceAll(/<(?=\/?note)/gi, '‹');
}

function section(name: string, text: string): string {
  return `## ${name}\n${text.trim() === '' ? NOTHING : text.trim()}`;
}
