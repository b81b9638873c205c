-- Up Migration
-- What a host has, as its workers say when they start, and since when it is being drained: it gets no more sandboxes, and its worker moves those that it has.
alter table hosts add column facts jsonb, add column draining_since timestamptz;

-- Down Migration
alter table hosts drop column facts, drop column draining_since;
