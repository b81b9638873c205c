import type { WorkflowClient } from '@temporalio/client';
import type { Chat } from '../../src/client.ts';
import { until } from '../../test/e2e/support.ts';
import type { AssistantPart } from '../../src/contracts/transcript.ts';
import type { Group } from './groups.ts';
import type { Upgrade } from './open-upgrade.ts';

interface Open {
  group: Group;
  index: number;
  chat: Chat;
}

/** Closes all conversations. Gives what is not as it would be without an upgrade. */
export async function endings(open: Open[], { workflows, versions }: Upgrade): Promise<string[]> {
  const problems: string[] = [];
  for (const { group, index, chat } of open) {
    const tell = (problem: string) => problems.push(`${chat.id} (${group.agent}): ${problem}`);
    const entries = (await chat.transcript()).map(({ entry }) => entry);
    const said = entries.flatMap((entry) => (entry.role === 'assistant' ? [textOf(entry.parts)] : []));
    if (JSON.stringify(said) !== JSON.stringify(group.says(index))) tell(`said ${JSON.stringify(said)}`);
    const results = entries.flatMap((entry) => (entry.role === 'tool' ? [JSON.stringify(entry.content)] : []));
    if (results.length !== group.calls) tell(`${results.length} results instead of ${group.calls}`);
    if (results.some((result) => result.split('went').length > 2)) tell(`a call took effect twice: ${results.join()}`);
    await chat.close();
    await until(async () => (await chat.status()).state === 'closed', `${chat.id} is closed`);
    const { events } = await workflows.getHandle(chat.id).fetchHistory();
    const failed =
      events?.flatMap(({ workflowTaskFailedEventAttributes: failure }) => (failure ? [failure.failure?.message ?? 'without a message'] : [])) ?? [];
    for (const message of failed) tell(`a workflow task failed: ${message}`);
    if (versions !== 'pinned') continue;
    const runs = await versionsOfRuns(workflows, chat.id);
    if (runs.some((run) => run.length !== 1) || runs.join() !== 'old,current') tell(`its runs were of the versions ${JSON.stringify(runs)}`);
  }
  return problems;
}

/** The versions whose workers have completed tasks of each run, the first run first. */
async function versionsOfRuns(workflows: WorkflowClient, conversationId: string): Promise<string[][]> {
  const runs: string[][] = [];
  for (let runId: string | undefined; ;) {
    const { events } = await workflows.getHandle(conversationId, runId).fetchHistory();
    const builds = (events ?? []).flatMap(({ workflowTaskCompletedEventAttributes: task }) => task?.deploymentVersion?.buildId ?? []);
    runs.unshift([...new Set(builds)]);
    const before = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
    if (!before) return runs;
    runId = before;
  }
}

function textOf(parts: AssistantPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
