import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createNewerServer, freshShared } from './newer-server.ts';

const shared = freshShared();
serveStdio((context) => createNewerServer(shared, context));
