import { Client } from 'pg';
const c = new Client(process.argv[2]!); await c.connect();
const id='conv_00000000000000099999';
const run = async (n: string, f: () => Promise<any>) => { await f(); const cpu=process.cpuUsage(), a=performance.now(); for (let i=0;i<5;i++) await f(); const d=process.cpuUsage(cpu); console.log(n, 'wall', ((performance.now()-a)/5).toFixed(1), 'cpu', ((d.user+d.system)/5000).toFixed(1)); };
await run('rows', async () => (await c.query({name:'r', text:"select seq, turn_id, step_id, at, entry, rewound from transcript where conversation_id=$1 order by seq", values:[id]})).rows.map((r: any) => ({...r, at: r.at.toISOString()})));
await run('json', async () => { const { rows } = await c.query({name:'j', text:"select coalesce(json_agg(t), '[]')::text as t from (select seq, turn_id, step_id, at, entry, rewound from transcript where conversation_id=$1 order by seq) t", values:[id]}); return JSON.parse(rows[0].t).map((r: any) => ({...r, at: new Date(r.at).toISOString()})); });
await run('rowsArr', async () => (await c.query({rowMode:'array', name:'ra', text:"select seq, turn_id, step_id, at::text, entry::text, rewound from transcript where conversation_id=$1 order by seq", values:[id]})).rows.map((r: any) => ({entry: JSON.parse(r[4])})));
await c.end();
