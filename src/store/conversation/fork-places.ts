import { failure } from '../../contracts/errors.ts';

/** An entry of a transcript without its content. */
export interface Outline {
  seq: number;
  turnId: string;
  stepId?: string;
  role: 'user' | 'assistant' | 'tool' | 'note';
  rewound: boolean;
  /** Of an answer: the calls that it asks for. */
  calls?: string[];
  /** Of a result. */
  callId?: string;
}
/** Which entries were taken back when `afterSeq` was the newest. */
export interface HiddenAt {
  afterSeq: number;
  hidden: number[];
}
export interface ForkPlace {
  /** The last entry that the fork has; 0: it has none. */
  transcriptSeq: number;
  /** Entries up to there that were taken back then. */
  hidden: number[];
  /** The newest result of a tool among the others. */
  resultSeq?: number;
}
export interface PlaceRequest {
  conversationId: string;
  at?: string;
  /** In order. */
  entries: readonly Outline[];
  /** What was taken back before each rewind, in order. */
  rewinds: readonly HiddenAt[];
  /** The checkpoint that `at` names. */
  checkpoint?: HiddenAt;
  /** The turn that has not ended. */
  runningTurn?: string;
}

/**
 * Where a fork begins. Every call up to there has its result up to there.
 * @throws FORK_REFUSED when there is no such place, or the turn or step has not ended
 */
export function placeOf(request: PlaceRequest): ForkPlace {
  const { at, checkpoint } = request;
  if (checkpoint) return closedAt(request, checkpoint);
  return at === undefined ? newestPlace(request) : endOf(request, at);
}

function endOf(request: PlaceRequest, at: string): ForkPlace {
  const { entries, runningTurn } = request;
  const ofStep = entries.findLast(({ stepId, role }) => stepId === at && (role === 'assistant' || role === 'tool'));
  const last = ofStep ?? entries.findLast(({ turnId }) => turnId === at);
  if (!last) throw refused(request, `it has no turn, step or checkpoint ${at}`, 'Read the ids in its events or its transcript, or leave "at" out');
  if (!ofStep && at === runningTurn) throw refused(request, `turn ${at} has not ended`, 'Fork at one of its steps, or leave "at" out');
  return closedAt(request, { afterSeq: last.seq, hidden: hiddenAt(request, last.seq) });
}

/** What was taken back when entry `seq` was the newest. */
export function hiddenAt({ entries, rewinds }: Pick<PlaceRequest, 'entries' | 'rewinds'>, seq: number): number[] {
  const before = rewinds.find(({ afterSeq }) => afterSeq >= seq);
  return before ? before.hidden : entries.flatMap((entry) => (entry.rewound ? [entry.seq] : []));
}

/** The newest entry after which every call has its result, and which ends a step or a turn. */
function newestPlace({ entries, runningTurn }: PlaceRequest): ForkPlace {
  const shown = entries.filter(({ rewound }) => !rewound);
  const open = new Set<string>();
  let last = 0;
  for (const [index, entry] of shown.entries()) {
    follow(open, entry);
    const endsTurn = entry.turnId !== runningTurn && shown[index + 1]?.turnId !== entry.turnId;
    if (open.size === 0 && (entry.role === 'assistant' || entry.role === 'tool' || endsTurn)) last = entry.seq;
  }
  const hidden = entries.filter(({ rewound, seq }) => rewound && seq < last).map(({ seq }) => seq);
  return { transcriptSeq: last, hidden, ...newestResult(shown, last) };
}

function closedAt(request: PlaceRequest, { afterSeq, hidden: all }: HiddenAt): ForkPlace {
  const hidden = all.filter((seq) => seq <= afterSeq);
  const gone = new Set(hidden);
  const shown = request.entries.filter(({ seq }) => seq <= afterSeq && !gone.has(seq));
  const open = new Set<string>();
  for (const entry of shown) follow(open, entry);
  if (open.size > 0) throw refused(request, `a call of that step has no result yet (${[...open].slice(0, 3).join(', ')})`, 'Fork at an earlier step, or wait');
  return { transcriptSeq: afterSeq, hidden, ...newestResult(shown, afterSeq) };
}

function follow(open: Set<string>, { calls = [], callId }: Outline): void {
  for (const call of calls) open.add(call);
  if (callId !== undefined) open.delete(callId);
}

function newestResult(shown: readonly Outline[], upTo: number): { resultSeq?: number } {
  const result = shown.findLast(({ role, seq }) => role === 'tool' && seq <= upTo);
  return result ? { resultSeq: result.seq } : {};
}

/** The newest result that a checkpoint's files contain; undefined when there is none. */
export function resultOf(entries: readonly Outline[], { upTo, hidden }: { upTo: number; hidden: readonly number[] }): number | undefined {
  const gone = new Set(hidden);
  return newestResult(
    entries.filter(({ seq }) => !gone.has(seq)),
    upTo,
  ).resultSeq;
}

function refused({ conversationId }: PlaceRequest, problem: string, fix: string): Error {
  return failure('FORK_REFUSED', { conversationId, problem, fix });
}
