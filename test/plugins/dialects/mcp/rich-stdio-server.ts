import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createRichServer } from './rich-server.ts';

await createRichServer().connect(new StdioServerTransport());
