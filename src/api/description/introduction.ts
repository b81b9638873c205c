/** What the OpenAPI document says before its routes. */
export const ABOUT = `Agent conversations that survive anything.

Send a key with each request: \`Authorization: Bearer lsk_…\`. The scopes of the key say what it may do, and a key with a tenant sees that tenant only: what belongs to another is 404.

Errors are \`application/problem+json\` (RFC 9457). Their \`code\` is stable, \`detail\` says what is wrong and what to do, and \`retryable\` whether the same request may succeed later. Every
route can also answer \`503\` while the service starts or stops.

Lists have pages: give the \`next\` of a page as \`cursor\` of the following one.`;

export const TAGS = [
  { name: 'conversations', description: 'Start conversations, send messages, follow what happens' },
  { name: 'files', description: 'Files in the sandboxes of conversations' },
  { name: 'commands', description: 'Commands in the sandboxes of conversations' },
  { name: 'previews', description: 'What programs in the sandboxes of conversations serve' },
  { name: 'approvals', description: 'Calls of tools that wait for a person' },
  { name: 'chat', description: 'Chats of pages that are made with the AI SDK' },
  { name: 'openai', description: "Agents as models of OpenAI's chat completions" },
  { name: 'schedules', description: 'Conversations that start by themselves' },
  { name: 'agents', description: 'Whom conversations can be with' },
  { name: 'plugins', description: 'The plugins of the installation; for operators' },
  { name: 'keys', description: 'Keys of this API' },
  { name: 'webhooks', description: 'URLs that events are sent to' },
  { name: 'usage', description: 'Tokens and cost of model calls' },
  { name: 'memory', description: 'Files that agents keep between conversations' },
  { name: 'operators', description: 'What operators look after' },
  { name: 'codec', description: 'Payloads of Temporal for its UI; for operators' },
  { name: 'operations', description: 'For load balancers and monitoring; they need no key' },
];
