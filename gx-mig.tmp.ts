import { migrate } from './src/store/database/migrate.ts';
import { prepareTenantRole } from './src/store/database/tenant-role.ts';
await migrate(process.argv[2]!); await prepareTenantRole(process.argv[2]!);
