-- Up Migration
-- The JSON Schema that the answer to a message has to fit.
alter table messages add column output json;

-- Down Migration
alter table messages drop column output;
