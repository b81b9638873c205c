-- Up Migration
-- Calls that code in a sandbox makes. They belong to the call whose code made them, and their results go to that code, not into the transcript:
-- `value` is what the code is given, as {"value": …}; it is absent when it was too large to be given.
alter table tool_calls add column parent_call_id text;
alter table tool_calls add column value json;

-- Down Migration
alter table tool_calls drop column value;
alter table tool_calls drop column parent_call_id;
