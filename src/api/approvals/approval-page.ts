import type { JsonObject } from '../../contracts/json.ts';
import { visibleJson, visibleLine } from '../../contracts/visible-text.ts';
import { isQuestion } from '../../contracts/questions/question.ts';
import { escaped, page } from './html.ts';

/** Longer arguments are not shown, and what cannot be read here cannot be allowed here. */
const LONGEST = 50_000;

export interface ShownCall {
  tool: string;
  arguments: JsonObject;
  why: string;
  agentId: string;
  expiresAt: Date;
}

type Words = readonly [title: string, asks: (agent: string, tool: string) => string, words: string, allow: string, deny: string];

const OF_CALL: Words = [
  'May this call run?',
  (agent, tool) => `The agent <b>${agent}</b> wants to call <b>${tool}</b>:`,
  'The call says what the agent wrote, not what Longshore says.',
  'Allow once',
  'Deny',
];
const OF_QUESTION: Words = [
  'A server asks',
  (agent, tool) =>
    `During a call of the agent <b>${agent}</b>, an MCP server asks (<b>${tool}</b>). Here, it can be given the <code>answer</code> that it suggests, or none:`,
  'The question says what the server wrote, not what Longshore says. Give other answers with a key or the command line.',
  'Accept',
  'Decline',
];
const OF_SIGN_IN: Words = [
  'The user has to sign in',
  (agent, tool) => `A call of the agent <b>${agent}</b> waits until its user has signed in, on the page at <code>url</code> (<b>${tool}</b>):`,
  'After the sign-in, the call goes on by itself.',
  'The user has signed in',
  'Decline',
];

/** What a person sees before the decision. All text of the call is shown, and none of it acts. */
export function approvalPage({ tool, arguments: given, why, agentId, expiresAt }: ShownCall, token: string): string {
  const json = visibleJson(given, 2);
  const fits = json.length <= LONGEST;
  const shown = fits
    ? `<pre>${escaped(json)}</pre>`
    : '<p>Its arguments are too long for this page. It can be denied here; to allow it, use a key or the command line.</p>';
  const [title, asks, words, allow, deny] = wordsFor(tool, given);
  const button = (decision: string, label: string) => `<button name="decision" value="${decision}">${label}</button>`;
  return page(
    title,
    `<p>${asks(line(agentId), line(tool))}</p>${shown}<p>${line(why)}</p>` +
      `<form method="post"><input type="hidden" name="token" value="${escaped(token)}">` +
      `${fits ? button('allow-once', allow) : ''}${button('deny', deny)}</form>` +
      `<p><small>This link works once, until ${escaped(expiresAt.toISOString())}. ${words}</small></p>`,
  );
}

function wordsFor(tool: string, { signIn }: JsonObject): Words {
  if (!isQuestion(tool)) return OF_CALL;
  return signIn === true ? OF_SIGN_IN : OF_QUESTION;
}

/** Whether the page shows all of the arguments. */
export function fitsPage(given: JsonObject): boolean {
  return visibleJson(given, 2).length <= LONGEST;
}

function line(text: string): string {
  return escaped(visibleLine(text));
}
