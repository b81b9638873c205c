import type { JsonObject } from '../../contracts/json.ts';
import { visibleJson, visibleLine } from '../../contracts/visible-text.ts';
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

/** What a person sees before the decision. All text of the call is shown, and none of it acts. */
export function approvalPage({ tool, arguments: given, why, agentId, expiresAt }: ShownCall, token: string): string {
  const json = visibleJson(given, 2);
  const fits = json.length <= LONGEST;
  const shown = fits
    ? `<pre>${escaped(json)}</pre>`
    : '<p>Its arguments are too long for this page. It can be denied here; to allow it, use a key or the command line.</p>';
  const button = (decision: string, label: string) => `<button name="decision" value="${decision}">${label}</button>`;
  return page(
    'May this call run?',
    `<p>The agent <b>${line(agentId)}</b> wants to call <b>${line(tool)}</b>:</p>${shown}<p>${line(why)}</p>` +
      `<form method="post"><input type="hidden" name="token" value="${escaped(token)}">` +
      `${fits ? button('allow-once', 'Allow once') : ''}${button('deny', 'Deny')}</form>` +
      `<p><small>This link works once, until ${escaped(expiresAt.toISOString())}. The call says what the agent wrote, not what Longshore says.</small></p>`,
  );
}

/** Whether the page shows all of the arguments. */
export function fitsPage(given: JsonObject): boolean {
  return visibleJson(given, 2).length <= LONGEST;
}

function line(text: string): string {
  return escaped(visibleLine(text));
}
