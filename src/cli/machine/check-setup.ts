import { checkDatabaseUrl } from '../../platform/config.ts';
import { readEncryptionKeys } from '../../platform/encryption-keys.ts';
import { createLogger } from '../../platform/log.ts';
import { compareNamespaces, identifyNamespace, namespaceAbsent } from '../../client/temporal/own-namespace.ts';
import { createTemporalLink } from '../../client/temporal/temporal.ts';
import { missingAttributes, tellMissing } from '../../contracts/search-attributes.ts';
import { named } from '../../store/database/fit-schema.ts';
import { readSchema } from '../../store/open-store.ts';
import type { TemporalNamespace } from '../../store/store.ts';
import { EXIT, printFact, printLine, type Cli } from '../output/cli.ts';

const SET_UP = 'To do this: longshore setup';

/** Says what `longshore setup` would do, and changes nothing. Ends with 1 when something is to be done. */
export async function checkSetup(cli: Cli): Promise<void> {
  const { todo: schema, home } = await checkPostgres(cli);
  const undone = [schema, await checkTemporal(cli, home)].filter((todo) => todo !== undefined);
  printLine(cli, undone.find((todo) => todo !== SET_UP) ?? undone[0] ?? 'Nothing is to be done.');
  if (undone.length > 0) cli.exitCode = EXIT.failed;
}

/** What is to be done, if something is, and to which namespace of Temporal the database belongs. */
async function checkPostgres(cli: Cli): Promise<{ todo: string | undefined; home: TemporalNamespace | undefined }> {
  const config = cli.config();
  const { pending, lacking, home } = await readSchema({
    url: checkDatabaseUrl(config, config.DATABASE_URL),
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }),
  });
  if (lacking.length > 0) {
    printFact(cli, `Postgres: a newer version has changed the schema (${named(lacking)}), and this version cannot work with it.`);
    return { todo: 'Setup does not help. Run the version that is used elsewhere in this installation.', home };
  }
  printFact(
    cli,
    pending.length === 0 ? 'Postgres: the schema is up to date.' : `Postgres: ${pending.length} changes of the schema have not been made: ${named(pending)}.`,
  );
  return { todo: pending.length === 0 ? undefined : SET_UP, home };
}

/** @throws DATABASE_ELSEWHERE, as setup and every program of the installation does */
async function checkTemporal(cli: Cli, home: TemporalNamespace | undefined): Promise<string | undefined> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, LONGSHORE_ENCRYPTION_KEYS } = cli.config();
  const temporal = createTemporalLink({ address, namespace, keys: readEncryptionKeys(LONGSHORE_ENCRYPTION_KEYS) });
  try {
    const connection = await temporal.connection();
    const here = await identifyNamespace({ address, namespace, connection });
    if (here === undefined) throw namespaceAbsent({ address, namespace });
    if (home) compareNamespaces(home, here, address);
    const { operatorService } = connection;
    const lacks = missingAttributes((await operatorService.listSearchAttributes({ namespace })).customAttributes);
    const { missing, fix } = tellMissing(lacks);
    printFact(cli, lacks.length === 0 ? 'Temporal: search attributes exist already.' : `Temporal: search attributes are missing: ${missing}.`);
    if (lacks.length === 0) return undefined;
    return lacks.some(({ problem }) => problem === 'other type') ? `Setup does not help. ${fix}.` : SET_UP;
  } finally {
    await temporal.close();
  }
}
