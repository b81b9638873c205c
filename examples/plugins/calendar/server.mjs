// A calendar in a JSON file, as a server of the Model Context Protocol. CALENDAR names the file.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import { createCalendar } from './calendar.mjs';

const calendar = createCalendar(process.env.CALENDAR ?? join(tmpdir(), 'calendar.json'));
const server = new McpServer({ name: 'calendar', version: '1.0.0' });

const time = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/, 'has to be like 2027-03-01T09:30')
  .describe('Local time, such as 2027-03-01T09:30');
const appointment = z.object({ title: z.string(), start: time, end: time });
const span = { from: time, to: time };

server.registerTool(
  'agenda',
  {
    description: 'The appointments between two times, in their order.',
    inputSchema: span,
    outputSchema: { appointments: z.array(appointment) },
    annotations: { readOnlyHint: true },
  },
  ({ from, to }) => structured({ appointments: calendar.between(from, to) }),
);

server.registerTool(
  'find_free',
  {
    description: 'Stretches of free time between two times that are at least so many minutes long.',
    inputSchema: { ...span, minutes: z.int().min(1).max(1440) },
    outputSchema: { free: z.array(z.object({ start: time, end: time })) },
    annotations: { readOnlyHint: true },
  },
  ({ from, to, minutes }) => structured({ free: calendar.free(from, to, minutes) }),
);

server.registerTool(
  'book',
  {
    description: 'Books an appointment where there is none yet. The same one twice is one.',
    inputSchema: { title: z.string().min(1).max(200), start: time, minutes: z.int().min(1).max(1440) },
    outputSchema: appointment.shape,
    annotations: { destructiveHint: false, idempotentHint: true },
  },
  ({ title, start, minutes }) => {
    const { booked, inTheWay } = calendar.book(title, start, minutes);
    return booked ? structured(booked) : failed(`There is "${inTheWay.title}" from ${inTheWay.start} to ${inTheWay.end}.`);
  },
);

server.registerTool(
  'cancel',
  {
    description: 'Takes an appointment out of the calendar, by its title and the time it starts.',
    inputSchema: { title: z.string(), start: time },
    annotations: { destructiveHint: true, idempotentHint: true },
  },
  ({ title, start }) => (calendar.cancel(title, start) ? said('It is cancelled.') : failed(`There is no "${title}" at ${start}.`)),
);

await server.connect(new StdioServerTransport());

function structured(value) {
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value };
}

function said(text) {
  return { content: [{ type: 'text', text }] };
}

function failed(text) {
  return { ...said(text), isError: true };
}
