-- Up Migration
-- How a conversation's newest turn ended is shown with every conversation, without reading the turn's many other events.
create index events_turn_ends on events (conversation_id, seq) where type = 'turn.finished';

-- Down Migration
drop index events_turn_ends;
