import { openStore } from './src/store/open-store.ts';
import { asTenant } from './src/store/database/tenant-scope.ts';
import { pino } from 'pino';
const store = await openStore({ url: process.argv[2]!, log: pino({level:'silent'}), migrate: 'no' });
const F: Record<string, any> = {
  all: {}, agentMany: {agentId:'main'}, agentOlder: {agentId:'other'}, agentRare: {agentId:'rare'}, agentNone: {agentId:'nobody'},
  userMany: {userId:'user-7'}, userSolo: {userId:'solo'}, userNone: {userId:'x'},
  tenantBig: {tenantId:'big'}, tenantT7: {tenantId:'t7'}, tenantOld: {tenantId:'old'}, tenantNone: {tenantId:'none'},
  tenantUser: {tenantId:'t7',userId:'user-7'}, tenantUserNone: {tenantId:'big',userId:'solo'},
  idle: {state:'idle'}, closed: {state:'closed'}, paused: {state:'paused'}, running: {state:'running'}, awaiting:{state:'awaiting-approval'},
  closedMain: {state:'closed', agentId:'main'}, idleOther: {state:'idle', agentId:'other'}, bigOther: {tenantId:'big', agentId:'other'}, bigClosed: {tenantId:'big', state:'closed'}, t7main: {tenantId:'t7',agentId:'main'}, userClosed:{userId:'user-1500',state:'closed'},
  bigUserClosedOther: {tenantId:'big', userId:'user-7', state:'closed', agentId:'other'},
  approvals: {hasApprovals:true}, approvalsMain: {hasApprovals:true, agentId:'main'}, approvalsBig: {hasApprovals:true, tenantId:'big'},
  forks: {forkedFrom:'conv_00000000000000000777'}, forksNone: {forkedFrom:'conv_00000000000000000778'}, forksOther: {forkedFrom:'conv_00000000000000000777', agentId: 'other'},
  olderAll: {olderThan:'conv_00000000000000050000'}, olderBig: {olderThan:'conv_00000000000000050000', tenantId:'big'}, olderMain:{olderThan:'conv_00000000000000050000', agentId:'main'}, olderIdle:{olderThan:'conv_00000000000000050000', state:'idle'},
};
const med = async (f: () => Promise<any>) => { const t: number[] = []; let n = 0; for (let i = 0; i < 9; i++) { const a = performance.now(); n = (await f()).length; t.push(performance.now() - a); } t.sort((a,b)=>a-b); return [t[4]!.toFixed(1), t[8]!.toFixed(1), n] as const; };
for (const [name, f] of Object.entries(F)) {
  const [m, p, n] = await med(() => store.conversations.list({ ...f, limit: 51 }));
  const role = f.tenantId === undefined ? '' : (await med(() => asTenant(f.tenantId, () => store.conversations.list({ ...f, limit: 51 })))).join(' / ');
  console.log(name.padEnd(20), String(m).padStart(8), String(p).padStart(8), n, '  role:', role, Number(p) > 50 ? ' SLOW' : '');
}
const r = await med(() => store.conversations.listOpen({ afterId: '', limit: 1000 })); console.log('listOpen', ...r);
for (const [n, f] of Object.entries({ claimNone: () => store.removal.claim(undefined, 20), claimYear: () => store.removal.claim(365*864e5, 20), begun: () => store.removal.begun(1000), compact: () => store.conversations.compact(365, 20), total: async () => [await store.conversations.totalBytes()], media: async () => [await store.media.sweep()], expired: () => store.sandboxes.listExpired(), list: () => store.sandboxes.list({hostId:'host-1'}) })) console.log(n, ...(await med(f as any)));
await store[Symbol.asyncDispose]();
