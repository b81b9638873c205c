-- Up Migration
-- The tools of clients that a message declares. Null: none are declared by it.
alter table messages add column client_tools json;

-- Down Migration
alter table messages drop column client_tools;
