/** The method of the Model Context Protocol with which a server asks the person behind a conversation. No id of a tool can contain the slash. */
export const QUESTION = 'elicitation/create';
/** The method with which a server asks the model. */
export const SAMPLING = 'sampling/createMessage';

/** A JSON object, as in `json.ts`. */
type Values = { [key: string]: Value };
type Value = string | number | boolean | null | Value[] | Values;

/** What a server asks. Everything but `server` and `answer` is the server's, bounded and without invisible characters. (Type aliases are assignable to `Json`.) */
export type Question = FormQuestion | UrlQuestion;

/** The person fills in a form. */
export type FormQuestion = {
  /** Name of the server, as the agent writes it. */
  server: string;
  message: string;
  /** JSON Schema of the answer: an object whose properties are texts, numbers, truth values and choices. */
  schema: Values;
  /** The answer; until there is one, the values that the server suggests. */
  answer: Values;
};
/** The person opens a page of the server. */
export type UrlQuestion = {
  server: string;
  message: string;
  url: string;
  /** Longshore asks: the page is its own, and leads to where the user signs in. No server can set it. */
  signIn?: true;
};

/** How a question ended, in the words of the protocol. `decline`: a person refused to answer. `cancel`: there is no answer. */
export interface QuestionAnswer {
  action: 'accept' | 'decline' | 'cancel';
  content?: Values;
}

/** Longest wait for the answer to a question of a server outside the sandbox, whose call a worker has to follow meanwhile. */
export const MAX_QUESTION_MS = 24 * 60 * 60_000;

/** Sent to the conversation of a running call when the server of that call asks, and with `withdrawn` when it no longer wants the answer. */
export interface ServerAsks<Call> {
  /** The call whose server asks. */
  callId: string;
  question: Call;
  withdrawn?: boolean;
}

/** A question has a place in the ledger like a call, under this name in place of a tool's. */
export function questionTool(server: string): string {
  return `${server}:${QUESTION}`;
}

export function isQuestion(tool: string): boolean {
  return tool.endsWith(`:${QUESTION}`);
}
