-- Up Migration
-- Whether a frozen sandbox was paused: then the commands in it wait for its wake. Otherwise an operation in progress thaws it.
alter table sandboxes add column paused boolean not null default false;
-- Those that were frozen before may have been paused, and stay so.
update sandboxes set paused = true where state = 'frozen';

-- Down Migration
alter table sandboxes drop column paused;
