import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createFixtureServer } from './fixture-server.ts';

await createFixtureServer({ pid: process.pid, secret: process.env['SECRET'] ?? 'none' }).connect(new StdioServerTransport());
