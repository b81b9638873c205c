-- Up Migration
-- Each statement on its own: others can write while an index is built.
-- A step reads what tasks have asked for its conversation. What is left of a build that was interrupted is removed first.
drop index concurrently if exists model_calls_of_tasks;
create index concurrently model_calls_of_tasks on model_calls (conversation_id) where starts_with(step_id, 'plugin-task-');

-- Down Migration
drop index model_calls_of_tasks;
