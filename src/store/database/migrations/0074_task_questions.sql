-- Up Migration
-- A question of a task of a plugin to the model is a row from before it is asked, with the most that it may use (`estimated`), until its answer has told what it did.
-- A question whose worker has ended stays an estimate.
alter table model_calls add column estimated boolean not null default false;
-- Until then no other worker asks the same question again: its answer may still be on its way to the plugin.
alter table model_calls add column held_until timestamptz;

-- Down Migration
alter table model_calls drop column held_until;
alter table model_calls drop column estimated;
