import { problemsOf, type Ended } from '../../scripts/chaos/check-conversation.ts';
import type { Kind } from '../../scripts/chaos/kinds/kinds.ts';
import type { ConversationEvent } from '../../src/contracts/events.ts';
import type { StoredEntry, TranscriptEntry } from '../../src/contracts/transcript.ts';

const KIND: Kind = {
  agent: {},
  turns: [
    {
      message: 'Work.',
      steps: [
        {
          calls: [
            { call: 'chaos:count', with: {} },
            { call: 'chaos:once', with: {} },
            { call: 'client:ask', with: {} },
          ],
        },
        { calls: [{ call: 'shell:run', with: {} }] },
        { say: 'Done.' },
      ],
    },
  ],
  marks: ['one', 'two'],
};

const CALLS = [
  { callId: 'c1', tool: 'chaos:count' },
  { callId: 'c2', tool: 'chaos:once' },
  { callId: 'c3', tool: 'client:ask' },
  { callId: 'c4', tool: 'shell:run' },
] as const;
type CallId = (typeof CALLS)[number]['callId'];

function called(...ids: CallId[]): TranscriptEntry {
  const parts = CALLS.filter(({ callId }) => ids.includes(callId)).map(({ callId, tool }) => ({ type: 'tool-call' as const, callId, tool, arguments: {} }));
  return { role: 'assistant', parts };
}

function result(callId: CallId, text = 'done', isError = false): TranscriptEntry {
  const tool = CALLS.find((call) => call.callId === callId)?.tool ?? '';
  return { role: 'tool', callId, tool, content: [{ type: 'text', text }], isError };
}

const shown = (...lines: string[]) => result('c4', JSON.stringify({ exitCode: 0, stdout: lines.map((line) => `${line}\n`).join('') }));
const message: TranscriptEntry = { role: 'user', content: [{ type: 'text', text: 'Work.' }] };
const done: TranscriptEntry = { role: 'assistant', parts: [{ type: 'text', text: 'Done.' }] };
/** The results of a step in another order than its calls. */
const ENTRIES = [message, called('c1', 'c2', 'c3'), result('c3'), result('c1'), result('c2'), called('c4'), shown('one', 'two'), done];

const stored = (entries: TranscriptEntry[]): StoredEntry[] => entries.map((entry, index) => ({ seq: index + 1, turnId: 'turn_1', at: '', entry }));
const logOf = (...events: [type: string, data: object][]) =>
  events.map(([type, data], index) => ({ seq: index + 1, at: '', conversationId: 'x', type, data }) as unknown as ConversationEvent);

const REPORTED: [string, object][] = [
  ...CALLS.flatMap(({ callId }): [string, object][] => ['requested', 'started', 'finished'].map((what) => [`tool.${what}`, { callId }])),
  ['turn.finished', { outcome: 'finished' }],
  ['conversation.closed', {}],
];
const EVENTS = logOf(...REPORTED);

const RIGHT: Ended = {
  kind: KIND,
  entries: stored(ENTRIES),
  events: EVENTS,
  read: structuredClone(EVENTS),
  calls: CALLS.map((call) => ({ ...call, state: 'finished' })),
  counted: () => 1,
  isServed: () => true,
};

const found = (change: Partial<Ended>) => problemsOf({ ...RIGHT, ...change }).map(({ rule, what }) => `${rule}: ${what}`);
const withEntries = (entries: TranscriptEntry[]) => found({ entries: stored(entries) });
const withEvents = (...events: [string, object][]) => found({ events: logOf(...events), read: logOf(...events) });

test('a conversation in which everything is right has no problems', () => {
  expect(found({})).toEqual([]);
});

test('a transcript that says something else is wrong', () => {
  expect(withEntries([...ENTRIES.slice(0, -1), { role: 'assistant', parts: [{ type: 'text', text: 'Other.' }] }])).toEqual([
    expect.stringMatching(/^transcript: it reads \["user: Work\.",.*"assistant: Other\. \[\]"\]$/),
  ]);
  expect(withEntries([...ENTRIES, { role: 'note', text: 'The sandbox was lost.' }])).toEqual([
    expect.stringMatching(/^transcript: .*"note: The sandbox was lost\."\]$/),
  ]);
});

test('what a rewind has taken back does not count, and what came after it does', () => {
  const [turn] = KIND.turns as [Kind['turns'][number]];
  const again = { message: 'Again.', steps: [{ say: 'Done again.' }] };
  const kind: Kind = { ...KIND, turns: [turn, again, { ...again, rewinds: true }], marks: [] };
  const asked: TranscriptEntry = { role: 'user', content: [{ type: 'text', text: 'Again.' }] };
  const said: TranscriptEntry = { role: 'assistant', parts: [{ type: 'text', text: 'Done again.' }] };
  const events = [...REPORTED, ['turn.finished', { outcome: 'finished' }], ['turn.finished', { outcome: 'finished' }]] as [string, object][];
  const all = stored([...ENTRIES, asked, said, asked, said]);
  const takenBack = all.map((entry, index) => (index === ENTRIES.length || index === ENTRIES.length + 1 ? { ...entry, rewound: true as const } : entry));
  const of = (entries: StoredEntry[]) => found({ kind, entries, events: logOf(...events), read: logOf(...events) });
  expect(of(takenBack)).toEqual([]);
  expect(of(all)).toEqual([expect.stringMatching(/^transcript: it reads .*"user: Again\.".*"user: Again\."/)]);
});

test('a fork has what its source said, its own turns, and may have the note about its sandbox', () => {
  const begun = { message: 'Begin.', steps: [{ say: 'Begun.' }] };
  const kind: Kind = { ...KIND, turns: [begun, ...KIND.turns] };
  const inherited: TranscriptEntry[] = [
    { role: 'user', content: [{ type: 'text', text: 'Begin.' }] },
    { role: 'assistant', parts: [{ type: 'text', text: 'Begun.' }] },
  ];
  const note: TranscriptEntry = { role: 'note', text: 'This conversation goes on from here as a fork of another one, with a sandbox of its own.' };
  const entries = stored([...inherited, note, ...ENTRIES]);
  expect(found({ kind, inherited: 1, entries })).toEqual([]);
  expect(found({ kind, entries })).toEqual([expect.stringMatching(/^transcript: /), 'lost: its turns ended as: finished']);
});

test('each call has exactly one result, which is not an error', () => {
  const without = ENTRIES.filter((entry) => entry.role !== 'tool' || entry.callId !== 'c1');
  expect(withEntries(without)).toEqual([expect.stringMatching(/^transcript: /), 'result: c1 has 0 results']);
  expect(withEntries(ENTRIES.toSpliced(3, 0, result('c1')))).toEqual([expect.stringMatching(/^transcript: /), 'result: c1 has 2 results']);
  expect(withEntries(ENTRIES.with(3, result('c1', 'it broke', true)))).toEqual(['lost: chaos:count (c1) failed: it broke']);
});

test('a call that the ledger has not settled, and one of which nothing is known, are reported; what may not be repeated may be unknown', () => {
  const states = (...changed: [CallId, 'running' | 'unknown'][]) =>
    found({ calls: CALLS.map((call) => ({ ...call, state: new Map(changed).get(call.callId) ?? 'finished' })) });
  expect(states(['c4', 'running'])).toEqual(['result: shell:run (c4) is running in the ledger']);
  expect(states(['c1', 'unknown'])).toEqual(['lost: it is unknown whether chaos:count (c1) has taken effect']);
  expect(states(['c2', 'unknown'])).toEqual([]);
});

test('a line that a command should have left is lost, and one too many is doubled', () => {
  expect(withEntries(ENTRIES.with(6, shown('one')))).toEqual(['lost: the line "two" of ["one"]']);
  expect(withEntries(ENTRIES.with(6, shown('one', 'two', 'two')))).toEqual(['doubled: the line "two" of ["one","two","two"]']);
  expect(withEntries(ENTRIES.with(6, result('c4', 'no JSON')))).toEqual(['lost: its file cannot be read: no JSON']);
});

test('the counter gets a request for each call, and one request for a call that may not be repeated', () => {
  expect(found({ counted: () => 0 })).toEqual([
    'reported: chaos:count (c1) is said to have finished, and the counter got no request for it',
    'reported: chaos:once (c2) is said to have finished, and the counter got no request for it',
  ]);
  expect(found({ counted: () => 2 })).toEqual(['doubled: the counter got 2 requests for chaos:once (c2)']);
  expect(found({ isServed: () => false })).toEqual(['reported: client:ask (c3) has a result, and no client has run it']);
});

test('events have numbers without gaps, tell once what happens once, and tell the end of each call, sub-agent and turn', () => {
  const [, ...later] = EVENTS;
  expect(found({ events: later, read: later })[0]).toBe('reported: event 1 has the number 2');
  expect(withEvents(...REPORTED, ['tool.started', { callId: 'c1' }])).toEqual(['reported: tool.started of c1 is reported more than once']);
  expect(withEvents(...REPORTED, ['tool.requested', { callId: 'c9' }])).toEqual(['result: no event tells the end of c9']);
  expect(withEvents(...REPORTED, ['agent.started', { callId: 'c9' }])).toEqual(['result: no event tells the end of the sub-agent of c9']);
  expect(withEvents(...REPORTED.slice(0, -2))).toEqual(['lost: its turns ended as: none has ended']);
});

test('a reader of events has had what is stored', () => {
  expect(found({ read: EVENTS.slice(0, -1) })).toEqual([
    expect.stringMatching(/^reported: event 14 is .*conversation\.closed.*, and its reader had undefined$/),
  ]);
  expect(found({ read: [...EVENTS, EVENTS[0]!] })).toEqual(['reported: its reader had 15 events, and 14 are stored']);
});
