import { randomBytes } from 'node:crypto';
import { anySignal } from '../../../../common/any-signal.ts';
import { pause } from '../../../../common/pause.ts';
import { parseForeign } from '../../../../contracts/foreign-json.ts';
import type { JsonObject } from '../../../../contracts/json.ts';
import { MAX_QUESTION_MS, type QuestionAnswer } from '../../../../contracts/questions/question.ts';
import { PATHS } from '../../../../oauth/client-of-users.ts';
import { signInNeededIn, type SignInNeeded } from '../../../../oauth/sign-in-needed.ts';
import type { SignIn, SignInRows } from '../../../../store/sign-ins/sign-ins.ts';
import type { ToolContext } from '../../../api/define-plugin.ts';

type CallContext = Pick<ToolContext, 'askPerson' | 'callId' | 'conversationId' | 'signal' | 'tenantId' | 'userId'>;

interface Parts {
  server: string;
  /** Normalized, as tokens are kept for it. */
  url: () => string;
  /** Where people reach the HTTP service. */
  publicUrl: string;
  rows: Pick<SignInRows, 'add' | 'ofCall' | 'isDone' | 'end' | 'resume'>;
  /** Called when a user has signed in. */
  onSignIn: (user: Pick<ToolContext, 'tenantId' | 'userId'>) => void;
}

/** Does a piece of work for a call, and does it again each time when its user has signed in for it. */
export type SigningIn = <Result>(context: CallContext, work: () => Promise<Result>) => Promise<Result>;

/** Sign-ins that a server may ask for during one call: the first, and more rights. */
const MOST_SIGN_INS = 3;
const LOOK_MS = 1_000;
/** The HTTP service, which has seen the sign-in, answers the question. If it does not, the question is withdrawn after this time. */
const GRACE_MS = 5_000;

export function createSigningIn({ server, url, publicUrl, rows, onSignIn }: Parts): SigningIn {
  return async (context, work) => {
    for (let asked = 0; ; asked += 1) {
      try {
        return await work();
      } catch (error) {
        const needed = signInNeededIn(error);
        if (!needed) throw error;
        if (asked === MOST_SIGN_INS) throw unmade(`refuses it though the user has signed in ${MOST_SIGN_INS} times for it`);
        await ask(needed, context);
        onSignIn(context);
      }
    }
  };

  /** Asks the user to sign in, and waits for that. What is asked is stored, so that a call whose worker has died goes on with the same link. */
  async function ask(needed: SignInNeeded, { askPerson, signal, ...call }: CallContext): Promise<void> {
    if (!askPerson) throw unmade('wants the user to sign in, and no person can be asked here');
    const before = await rows.ofCall(call.callId);
    const signIn = before && isOpen(before) ? before : await add(needed, call);
    const over = new AbortController();
    const watching = watch(signIn.signInId, over);
    const message = `Sign in at ${hostOf(needed)} to let the agent use ${server} for you. A call waits for it.`;
    const question = { server, message, url: `${publicUrl}${PATHS.signIn}/${signIn.link}`, signIn: true } as const;
    const answer = await askPerson(question, anySignal([signal, over.signal])).finally(() => over.abort());
    await watching;
    if (!(await rows.isDone(signIn.signInId))) {
      await rows.end(signIn.signInId);
      throw unmade(wordsOf(answer));
    }
    await rows.resume(signIn.signInId);
  }

  function add({ prepared }: SignInNeeded, { tenantId, userId, conversationId, callId }: Omit<CallContext, 'askPerson' | 'signal'>): Promise<SignIn> {
    return rows.add({
      signInId: randomBytes(12).toString('hex'),
      link: randomBytes(32).toString('base64url'),
      tenantId,
      userId,
      server,
      url: url(),
      issuer: prepared.authorization.authorizationServerUrl,
      conversationId,
      callId,
      secret: parseForeign(JSON.stringify(prepared)) as JsonObject,
      ttlMs: MAX_QUESTION_MS,
    });
  }

  /** Ends the question some time after the sign-in. */
  async function watch(signInId: string, over: AbortController): Promise<void> {
    while (!over.signal.aborted && !(await rows.isDone(signInId).catch(() => false))) await pause(LOOK_MS, over.signal);
    await pause(GRACE_MS, over.signal);
    over.abort();
  }

  function isOpen({ isDone, expiresAt, server: at, url: of }: SignIn): boolean {
    return !isDone && expiresAt.getTime() > Date.now() && at === server && of === url();
  }

  function unmade(why: string): Error {
    return new Error(`the call was not made: the MCP server ${server} ${why}`);
  }
}

/** Where the person types a password. */
function hostOf({ prepared: { authorization } }: SignInNeeded): string {
  const { authorizationServerUrl, authorizationServerMetadata } = authorization;
  return new URL(authorizationServerMetadata?.authorization_endpoint ?? authorizationServerUrl).host;
}

function wordsOf({ action }: QuestionAnswer): string {
  switch (action) {
    case 'decline':
      return 'wants the user to sign in, and the user has declined';
    case 'accept':
      return 'wants the user to sign in, and the user has not done that on the page that was given';
    default:
      return 'wants the user to sign in, and the user has not done so in time';
  }
}
