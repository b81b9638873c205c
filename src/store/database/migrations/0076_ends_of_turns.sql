-- Up Migration
-- Each statement on its own: others can write while an index is built.
-- A client that waits for a turn that has not begun looks whether it has ended; without this, all ends of the conversation's turns are read. What is left of a build that was
-- interrupted is removed first.
drop index concurrently if exists events_ends_of_turns;
create index concurrently events_ends_of_turns on events (conversation_id, turn_id) where type = 'turn.finished';

-- Down Migration
drop index events_ends_of_turns;
