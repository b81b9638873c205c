-- Up Migration
-- A question of a task of a plugin to the model is a row from before it is asked, with the most that it may use (`estimated`), until its answer has told what it did.
-- A question whose worker has ended stays an estimate.
alter table model_calls add column estimated boolean not null default false;
-- Until then no other worker asks the same question again: its answer may still be on its way to the plugin.
alter table model_calls add column held_until timestamptz;
create index model_calls_of_tasks on model_calls (conversation_id) where starts_with(step_id, 'plugin-task-');

-- Down Migration
drop index model_calls_of_tasks;
alter table model_calls drop column held_until;
alter table model_calls drop column estimated;
