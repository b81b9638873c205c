import { Client, Connection } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { isSealed, openPayload } from '../../client/temporal/payload-codec.ts';
import { parseDuration } from '../../common/duration.ts';
import { CONVERSATION_WORKFLOW } from '../../contracts/conversation.ts';
import { missingAttributes } from '../../contracts/search-attributes.ts';
import type { Config } from '../../platform/config.ts';
import { readEncryptionKeys } from '../../platform/encryption-keys.ts';
import { findTemporalCli } from '../../setup/temporal-cli.ts';
import { messageOf, type DoctorLine } from './doctor-line.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const DAY_MS = 86_400_000;
/** Inputs and results of activities stay far below it; servers have 2 MB unless they were changed. */
const ENOUGH_BYTES = 1_000_000;

type Settings = Pick<
  Config,
  'TEMPORAL_ADDRESS' | 'TEMPORAL_NAMESPACE' | 'LONGSHORE_HOME' | 'LONGSHORE_RETENTION' | 'LONGSHORE_ENCRYPTION_KEYS' | 'LONGSHORE_TASK_QUEUE'
>;
type NamespaceAnswer = Awaited<ReturnType<Connection['workflowService']['describeNamespace']>>;
type Asked = { connection: Connection; namespace: NamespaceAnswer; config: Settings };

/** What the Temporal server and the namespace can do and allow, as far as they tell. */
export async function temporalLines(config: Settings): Promise<DoctorLine[]> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: name } = config;
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS });
  } catch (error) {
    return [await absentLine(config, error)];
  }
  try {
    const namespace = await connection.workflowService.describeNamespace({ namespace: name });
    const asked = { connection, namespace, config };
    const lines = await Promise.all([serverLine(asked), attributesLine(asked), keysLine(asked)].map((line) => line.catch(unanswered)));
    const [server, ...others] = lines as [DoctorLine, ...DoctorLine[]];
    return [server, ...others, updatesLine(namespace), limitsLine(namespace), historiesLine(namespace, config)];
  } catch (error) {
    const todo = `Make the namespace, or set TEMPORAL_NAMESPACE. A new one: temporal operator namespace create --namespace ${name} --address ${address}`;
    return [{ name: 'Temporal', ok: 'missing', found: `the namespace "${name}" at ${address} cannot be used (${messageOf(error)})`, todo }];
  } finally {
    await connection.close();
  }
}

async function absentLine({ TEMPORAL_ADDRESS: address, LONGSHORE_HOME: home }: Settings, error: unknown): Promise<DoctorLine> {
  const program = await findTemporalCli(home);
  const problem = `no server answers at ${address} (${messageOf(error)})`;
  if (program === undefined) return { name: 'Temporal', ok: 'missing', found: problem, todo: 'Set TEMPORAL_ADDRESS, or start one here: longshore dev' };
  return { name: 'Temporal', ok: 'warning', found: `${problem}; ${program} is here`, todo: 'Start the stack: longshore dev; or set TEMPORAL_ADDRESS' };
}

/** Not every caller may ask for everything, such as at a hosted Temporal. */
function unanswered(error: unknown): DoctorLine {
  return { name: 'Temporal', ok: 'warning', found: `a question was not answered: ${messageOf(error)}`, todo: 'Ask with an account that may read the cluster' };
}

async function serverLine({ connection, config }: Asked): Promise<DoctorLine> {
  const [{ serverVersion, capabilities }, cluster] = await Promise.all([
    connection.workflowService.getSystemInfo({}),
    connection.workflowService.getClusterInfo({}).catch(() => undefined),
  ]);
  const stores = cluster ? `, data in ${cluster.persistenceStore || 'a store it does not tell'}, lists in ${cluster.visibilityStore || 'the same'}` : '';
  const offered = listed({
    schedules: capabilities?.supportsSchedules,
    'eager start': capabilities?.eagerWorkflowStart,
    'worker versioning': capabilities?.buildIdBasedVersioning,
  });
  const line = { name: 'Temporal', found: `server ${serverVersion} at ${config.TEMPORAL_ADDRESS}${stores}; ${offered}` };
  if (capabilities?.supportsSchedules) return { ...line, ok: 'ok' };
  return { ...line, ok: 'warning', todo: 'Use a server with schedules (1.18 or later), or do without: longshore schedule' };
}

async function attributesLine({ connection, config }: Asked): Promise<DoctorLine> {
  const name = 'Search attributes';
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: config.TEMPORAL_NAMESPACE });
  const missing = missingAttributes(customAttributes);
  const named = (wanted: string) => missing.flatMap((one) => (one.problem === wanted ? [one.name] : [])).join(', ');
  const [absent, other] = [named('missing'), named('other type')];
  if (other !== '')
    return {
      name,
      ok: 'missing',
      found: `of another type: ${other}${absent === '' ? '' : `; missing: ${absent}`}`,
      todo: 'Remove them, if no other program uses them (temporal operator search-attribute remove), then: longshore setup',
    };
  if (absent !== '') return { name, ok: 'missing', found: `missing: ${absent}`, todo: 'Register them: longshore setup' };
  return { name, ok: 'ok', found: 'all registered' };
}

/** Messages and answers to approvals are updates. */
function updatesLine({ namespaceInfo }: NamespaceAnswer): DoctorLine {
  const { capabilities } = namespaceInfo ?? {};
  const name = 'Updates';
  const found = listed({
    updates: capabilities?.syncUpdate,
    'updates that are waited for later': capabilities?.asyncUpdate,
    'pause of workflows': capabilities?.workflowPause,
  });
  if (capabilities?.syncUpdate) return { name, ok: 'ok', found };
  const todo = 'Allow them (frontend.enableUpdateWorkflowExecution), or use server 1.25 or later: messages and answers to approvals need them';
  return { name, ok: 'missing', found, todo };
}

function limitsLine({ namespaceInfo }: NamespaceAnswer): DoctorLine {
  const { limits } = namespaceInfo ?? {};
  const name = 'Payload limits';
  const [blob, memo] = [Number(limits?.blobSizeLimitError ?? 0), Number(limits?.memoSizeLimitError ?? 0)];
  if (blob === 0) return { name, ok: 'ok', found: 'this server does not tell them, nor the limit of a history' };
  const found = `${kilobytes(blob)} for a payload, ${kilobytes(memo)} for a memo; no server tells the limit of a history`;
  if (blob >= ENOUGH_BYTES) return { name, ok: 'ok', found };
  return { name, ok: 'warning', found, todo: 'Allow 1 MB or more (limit.blobSize.error): larger results of activities are refused' };
}

/** With a shorter retention of conversations, what was removed is still in the histories. */
function historiesLine({ config }: NamespaceAnswer, { LONGSHORE_RETENTION: retention }: Settings): DoctorLine {
  const name = 'Retention';
  const keptMs = config?.workflowExecutionRetentionTtl ? tsToMs(config.workflowExecutionRetentionTtl) : 0;
  const histories = `Temporal keeps histories for ${Math.round((keptMs / DAY_MS) * 10) / 10} days after the end`;
  if (retention === '0') return { name, ok: 'ok', found: `${histories}; conversations are kept (LONGSHORE_RETENTION=0)` };
  const found = `${histories}; conversations are kept for ${retention}`;
  if (keptMs <= parseDuration(retention)) return { name, ok: 'ok', found };
  return { name, ok: 'warning', found, todo: "Shorten the namespace's retention, or lengthen LONGSHORE_RETENTION: histories outlive the conversations" };
}

/** The summary of the newest conversation tells with which key the others encrypt. */
async function keysLine({ connection, config }: Asked): Promise<DoctorLine> {
  const name = 'Encryption keys';
  const { first, byId } = readEncryptionKeys(config.LONGSHORE_ENCRYPTION_KEYS);
  const here = first ? `this machine encrypts with "${first.id}"` : byId.size > 0 ? 'this machine only decrypts' : 'this machine has none';
  const { workflow } = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE });
  const query = `WorkflowType = '${CONVERSATION_WORKFLOW}' AND TaskQueue = '${config.LONGSHORE_TASK_QUEUE.replaceAll("'", "''")}'`;
  const { value: newest } = await workflow.list({ query, pageSize: 1 })[Symbol.asyncIterator]().next();
  if (!newest) return { name, ok: 'ok', found: `${here}; there is no conversation to compare with` };
  const { raw } = await workflow.getHandle(newest.workflowId, newest.runId).describe();
  const summary = raw.executionConfig?.userMetadata?.summary;
  if (!summary || !isSealed(summary)) {
    const found = `${here}; the newest conversation is not encrypted`;
    if (!first) return { name, ok: 'ok', found };
    return { name, ok: 'warning', found, todo: 'If it is newer than the keys, a process that starts conversations lacks them' };
  }
  try {
    openPayload(summary, byId);
    return { name, ok: 'ok', found: `${here}; the newest conversation can be decrypted` };
  } catch (error) {
    const found = `${here}; the newest conversation cannot be decrypted (${error instanceof Error ? error.message : String(error)})`;
    return { name, ok: 'missing', found, todo: 'Give every process the same LONGSHORE_ENCRYPTION_KEYS' };
  }
}

/** What is there, then what is not. */
function listed(abilities: Record<string, boolean | null | undefined>): string {
  const names = (there: boolean) => Object.keys(abilities).filter((name) => Boolean(abilities[name]) === there);
  const without = names(false);
  const there = names(true).join(', ') || 'none';
  return without.length === 0 ? there : `${there}; not: ${without.join(', ')}`;
}

function kilobytes(bytes: number): string {
  return `${Math.round(bytes / 1024)} KB`;
}
