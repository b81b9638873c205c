import { z } from 'zod';
import { type PinnedSkill, SKILL_TOOL, type SkillFile, type SkillText } from '../../contracts/skills/skill.ts';
import { readProgram } from '../../platform/read-program.ts';
import { definePlugin, defineTool, type Plugin, type PluginConversation, type ToolSandbox } from '../api/define-plugin.ts';
import { ProgramRefusal, runProgram } from './run-program.ts';
import { pieceOf } from './text-piece.ts';

const [PLUGIN_ID = '', TOOL_ID = ''] = SKILL_TOOL.split(':');
/** Where the files of skills are put. */
const DIRECTORY = '/home/user/.longshore-skills';
const MOST_LISTED = 100;
const PLACE = readProgram(import.meta.url, 'programs/skills_place.py');

/** What the tool needs of a worker. */
export interface SkillSource {
  /** As the step has them: it has looked them up. */
  of(this: void, conversation: Pick<PluginConversation, 'conversationId' | 'agentId'>): Promise<PinnedSkill[]>;
  lookUp(this: void, conversation: Pick<PluginConversation, 'conversationId' | 'agentId'>): Promise<PinnedSkill[]>;
  text(this: void, digest: string): Promise<SkillText | undefined>;
  file(this: void, digest: string, path: string): Promise<Buffer | undefined>;
  /** Whether the agent has tools that work in the sandbox. */
  usesSandbox(this: void, agentId: string): boolean;
}

/** The plugin with which a model reads skills, in conversations that have some. */
export function createSkillsPlugin(source: SkillSource): Plugin {
  const read = defineTool({
    id: TOOL_ID,
    description:
      'Reads a skill that is listed in your instructions: how to do work of one kind. Read it before you begin such work. Its files, if it has any, are put into the ' +
      'sandbox, and the answer says where. With "file", reads one of these files instead. Long texts come in pieces.',
    parameters: z.strictObject({
      skill: z.string().min(1).max(64).describe('Name of the skill.'),
      file: z.string().min(1).max(400).optional().describe('A file of the skill, as its list names it.'),
      offset: z.int().min(0).default(0).describe('First character to read.'),
    }),
    isolation: 'container',
    annotations: { title: 'Read a skill', readOnlyHint: true, idempotentHint: true },
    requireApproval: false,
    summarize: ({ skill, file }) => (file === undefined ? skill : `${skill}: ${file}`),
    async execute({ skill, file, offset }, { conversationId, agentId, sandbox }) {
      const skills = await source.lookUp({ conversationId, agentId });
      const pinned = skills.find(({ name }) => name === skill);
      if (!pinned) return refusal(`There is no skill ${JSON.stringify(skill)}. Known are: ${skills.map(({ name }) => name).join(', ')}.`);
      const text = await source.text(pinned.digest);
      if (!text) return refusal(`The content of the skill ${skill} is not in the database any more. Go on without it, and tell the user.`);
      if (file !== undefined) return readFile(source, text, file, offset);
      if (offset > 0 || text.files.length === 0 || !source.usesSandbox(agentId)) return describe(text, undefined, offset);
      try {
        return describe(text, await place(source, text, sandbox), offset);
      } catch (error) {
        if (!(error instanceof ProgramRefusal)) throw error;
        return refusal(`The files of the skill could not be put into the sandbox: ${error.message}`);
      }
    },
  });
  return definePlugin({
    id: PLUGIN_ID,
    version: '1',
    description: 'Skills of the agent',
    tools: [read],
    selectTools: async (conversation) => ((await source.of(conversation)).length > 0 ? [TOOL_ID] : []),
    promptText: async (conversation) => {
      const lines = (await source.of(conversation)).map(({ name, description }) => `- ${name}: ${description}`);
      return lines.length === 0
        ? undefined
        : `Skills, which say how to do work of one kind. Read one with ${SKILL_TOOL} before you do such work:\n${lines.join('\n')}`;
    },
  });
}

/** Puts the files into the sandbox, as they are stored: a copy that the guest has changed is replaced. Returns the directory. */
async function place(source: SkillSource, { name, digest, files }: SkillText, sandbox: ToolSandbox): Promise<string> {
  const directory = `${DIRECTORY}/${name}`;
  const given = await Promise.all(
    files.map(async ({ path, executable }) => ({ path, executable, content: (await source.file(digest, path))?.toString('base64') ?? '' })),
  );
  await runProgram(sandbox, PLACE, { directory, files: given }, z.object({ files: z.int() }));
  return directory;
}

async function readFile(source: SkillSource, { name, digest, files }: SkillText, wanted: string, offset: number) {
  const content = files.some(({ path }) => path === wanted) ? await source.file(digest, wanted) : undefined;
  if (!content) return refusal(`The skill ${name} has no file ${JSON.stringify(wanted)}. It has: ${listOf(files) || 'none'}`);
  if (content.subarray(0, 8_192).includes(0)) return refusal(`${wanted} is a binary file of ${content.length} bytes. Use the copy in the sandbox.`);
  return pieceOf(content.toString('utf8'), offset, { skill: name, file: wanted });
}

function describe(text: SkillText, directory: string | undefined, offset: number) {
  const { name, body, files } = text;
  if (offset > 0) return pieceOf(body, offset, { skill: name });
  const where =
    directory === undefined
      ? `Read them with ${SKILL_TOOL} and "file":`
      : `They are in ${directory} in the sandbox, read-only; paths in the text are relative to it:`;
  const head = files.length === 0 ? '' : `This skill has files. ${where}\n${listOf(files)}\n\n`;
  return pieceOf(`${head}${body}`, 0, { skill: name }, head.length);
}

function listOf(files: SkillFile[]): string {
  const lines = files.slice(0, MOST_LISTED).map(({ path, bytes }) => `- ${path} (${bytes} bytes)`);
  return [...lines, ...(files.length > MOST_LISTED ? [`- and ${files.length - MOST_LISTED} more`] : [])].join('\n');
}

function refusal(text: string) {
  return { content: [{ type: 'text' as const, text }], isError: true };
}
