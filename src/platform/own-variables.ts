/** Settings of Longshore, and variables with the secrets that its libraries read: of Postgres, Temporal, the blob store and the collector of traces. */
const OWN = /^(?:LONGSHORE_.*|TEMPORAL_.*|PG[A-Z]+|POSTGRES_.*|DATABASE_URL|AWS_(?:SECRET_ACCESS_KEY|SESSION_TOKEN)|OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?HEADERS)$/;

/** Whether a variable of the environment belongs to Longshore itself, so that no plugin may have it, whatever an operator grants. */
export function isOwnVariable(name: string): boolean {
  return OWN.test(name);
}
