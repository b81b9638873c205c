-- Up Migration
-- Requests with an Idempotency-Key, and the answers that their repetitions are given for a day.
create table request_answers (
  -- Empty: of operators.
  tenant_id text not null,
  -- SHA-256 of user, method, path and key.
  request bytea not null,
  -- SHA-256 of the path with its query, and of the body.
  fingerprint bytea not null,
  began_at timestamptz not null default clock_timestamp(),
  -- Null while the request is in progress.
  status integer,
  -- Null where the answer is not kept: it has a secret, or was erased.
  body text,
  primary key (tenant_id, request)
);
create index request_answers_age on request_answers (began_at);
select longshore_keep_apart('request_answers', 'tenant_id = longshore_tenant()');

-- Down Migration
drop table request_answers;
