-- Up Migration
-- Calls of code that has ended long ago, without a result: their worker died, and the code ended before another one received them. They only read. Forks took
-- them for calls that still change files.
update tool_calls call set state = 'interrupted', is_error = true, finished_at = clock_timestamp(),
    content = '[{"type":"text","text":"Interrupted: the code that made this call ended before the call had a result."}]'
  from tool_calls parent
  where call.state = 'running' and call.parent_call_id = parent.call_id and parent.conversation_id = call.conversation_id
    and parent.finished_at < clock_timestamp() - interval '1 day' and call.started_at < clock_timestamp() - interval '1 day';

-- Calls of conversations whose workflow was ended from outside, such as in the Temporal UI.
update tool_calls call set state = 'unknown', is_error = true, finished_at = clock_timestamp(),
    content = '[{"type":"text","text":"The workflow of the conversation was ended from outside; it is not known whether this call took effect."}]'
  from conversations
  where call.state = 'running' and call.conversation_id = conversations.conversation_id
    and conversations.state = 'closed' and conversations.updated_at < clock_timestamp() - interval '1 day';

-- Down Migration
-- What these calls did is not known again.
