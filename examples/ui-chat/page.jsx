import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import { createRoot } from 'react-dom/client';
import { hasAnswers } from './answers.ts';
import { visibleInput } from './visible-input.ts';

/* global AGENT */

// The address has the id of the chat: whoever loads it again goes on where it is.
if (location.hash === '') location.hash = crypto.randomUUID();
const id = location.hash.slice(1);
const messages = await (await fetch(`/api/chat/${id}/messages`)).json();
createRoot(document.querySelector('main')).render(<Chat />);

function Chat() {
  const chat = useChat({
    id,
    messages,
    resume: true,
    transport: new DefaultChatTransport({ api: '/api/chat', body: { agent: AGENT } }),
    sendAutomaticallyWhen: hasAnswers,
  });
  const isAsking = chat.messages.some(({ parts }) => parts.some(({ state }) => state === 'approval-requested'));
  const send = (data) => void chat.sendMessage({ text: data.get('text') });
  return (
    <>
      {chat.messages.map((message) => (
        <section key={message.id}>
          <b>{message.role}</b>
          {message.parts.map((part, index) => (
            <Part key={index} part={part} answer={chat.addToolApprovalResponse} />
          ))}
        </section>
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form action={send}>
        <input name="text" aria-label="Message" required /> <button disabled={isAsking}>Send</button>{' '}
        <button type="button" onClick={() => fetch(`/api/chat/${id}/stop`, { method: 'POST' })}>
          Stop
        </button>{' '}
        <output>{chat.status}</output>
      </form>
    </>
  );
}

function Part({ part, answer }) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type === 'reasoning') return <p style={{ opacity: 0.6 }}>{part.text}</p>;
  if (part.type === 'data-status') return <p>[{part.data.state}]</p>;
  if (part.type !== 'dynamic-tool') return null;
  return (
    <pre>
      {part.toolName} {visibleInput(part.input)} {part.state}
      {'\n'}
      {part.output ?? part.errorText}
      {part.state === 'approval-requested' && (
        <>
          {part.approval.descriptor?.why} <button onClick={() => answer({ id: part.approval.id, approved: true })}>Allow</button>{' '}
          <button onClick={() => answer({ id: part.approval.id, approved: false })}>Deny</button>
        </>
      )}
    </pre>
  );
}
