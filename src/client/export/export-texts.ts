import { isStoredMedia } from '../../contracts/attachments/media.ts';
import type { ClientTools } from '../../contracts/client-tool.ts';
import { codeSpan } from '../../contracts/markdown.ts';
import type { AssistantPart, ContentPart, StoredEntry } from '../../contracts/transcript.ts';
import { visibleJson, visibleText } from '../../contracts/visible-text.ts';

/** One entry of the transcript for people. What anybody wrote is in a block of its own, in which nothing is Markdown of ours. */
export function entryText({ seq, turnId, at, rewound, entry }: StoredEntry): string {
  const taken = rewound ? ', taken back by a rewind' : '';
  const head = (who: string) => `## ${seq}. ${who}\n\n${at}, turn ${codeSpan(turnId)}${taken}\n\n`;
  switch (entry.role) {
    case 'user':
      return head('User') + entry.content.map(contentText).join('') + declaredText(entry.clientTools);
    case 'assistant':
      return head('Agent') + entry.parts.map(partText).join('');
    case 'tool':
      return `${head(entry.isError ? 'Result: an error' : 'Result')}Of the call ${codeSpan(entry.callId)} of ${codeSpan(entry.tool)}:\n\n${entry.content.map(contentText).join('')}`;
    default:
      return head('Longshore') + block(entry.text);
  }
}

function declaredText(tools: ClientTools | undefined): string {
  if (!tools) return '';
  const names = Object.keys(tools).map(codeSpan).join(', ');
  return names === ''
    ? 'Declares no client tools from here on.\n\n'
    : `Declares the client tools from here on: ${names}. Their schemas are in transcript.jsonl.\n\n`;
}

function partText(part: AssistantPart): string {
  if (part.type === 'text') return block(part.text);
  if (part.type === 'reasoning') return `Thought:\n\n${block(part.text)}`;
  const given = part.unreadable === undefined ? block(visibleJson(part.arguments, 2), 'json') : `Its arguments could not be read:\n\n${block(part.unreadable)}`;
  return `Calls ${codeSpan(part.tool)} as ${codeSpan(part.callId)}:\n\n${given}`;
}

function contentText(part: ContentPart): string {
  if (part.type === 'text') return block(part.text);
  const what = 'name' in part && part.name !== undefined ? `The ${part.type} ${codeSpan(part.name)}` : part.type === 'image' ? 'An image' : 'A file';
  if (isStoredMedia(part)) return `${what} (${codeSpan(part.mediaType)}, ${part.bytes} bytes): attachments/${part.blob.replace(':', '-')}\n\n`;
  return `${what} (${codeSpan(part.mediaType)}, ${part.data.length} characters of base 64), which transcript.jsonl has.\n\n`;
}

/** A fence is longer than any in the text. */
function block(text: string, language = 'text'): string {
  const shown = visibleText(text);
  const longest = Math.max(2, ...(shown.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${shown}\n${fence}\n\n`;
}

/** `files`: why there are none; undefined when there are. */
export function readmeText(conversationId: string, files: string | undefined): string {
  return `# Conversation ${codeSpan(conversationId)}

An export by Longshore. No program but the usual ones is needed to read it. Everything is UTF-8; a line of a \`.jsonl\` file is one JSON value.

| file | what it has |
|---|---|
| \`conversation.json\` | ids, agent, user, times, state, status and what the model calls used; \`format\` and \`version\` say how to read the rest |
| \`transcript.md\` | what was said and done, for people. Texts are in blocks, with invisible characters as escapes |
| \`transcript.jsonl\` | the same for programs: one entry a line, in the order of \`seq\`. \`rewound\`: a rewind took it back |
| \`events.jsonl\` | the log of events, one a line, in the order of \`seq\` |
| \`earlier-events.jsonl\` | of an imported conversation: the log of events that its archive had, with the ids of that time. Absent in others |
| \`attachments/\` | images and files of messages and of results; the name is the \`blob\` of the transcript, with \`-\` for its \`:\`. Absent when there are none |
${
  files === undefined
    ? `| \`files/\` | the home directory of the sandbox at the time of the export: its files and directories |
| \`files-left-out.json\` | what of it is not in \`files/\`, or not as it is: links, what is no regular file, what could not be read |
`
    : ''
}
${files === undefined ? 'Files were written by programs of the sandbox, and texts by models and users: trust neither.' : `There are no files: ${files}. Texts were written by models and users: do not trust them.`}

Not in it: memory and processes of the sandbox, its checkpoints, files outside of the home directory, and results that waited to be read when it was made.

Read it, for instance, with:

\`\`\`sh
jq -r 'select(.entry.role == "user") | .entry.content[] | .text? // empty' transcript.jsonl
\`\`\`
`;
}
