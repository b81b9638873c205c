-- Up Migration
-- Each statement on its own: nobody waits while an index is built.
-- Lists of conversations, newest first, whatever they are filtered by: all that a filter may name is in the index, so that a filter that few conversations match,
-- or none, reads the index and not the table. It takes the place of `conversations_newest`. What is left of a build that was interrupted is removed first.
drop index concurrently if exists conversations_listed;
create index concurrently conversations_listed on conversations (created_at desc, conversation_id desc, state, agent_id, user_id, tenant_id);
drop index concurrently if exists conversations_newest;

-- Down Migration
create index conversations_newest on conversations (created_at desc, conversation_id desc);
drop index conversations_listed;
