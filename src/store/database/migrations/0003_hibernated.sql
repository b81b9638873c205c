-- Up Migration
alter table sandboxes drop constraint sandboxes_state_check;
alter table sandboxes add constraint sandboxes_state_check
  check (state in ('creating', 'running', 'frozen', 'hibernated', 'stopped', 'lost', 'destroyed'));

-- Down Migration
update sandboxes set state = 'lost' where state = 'hibernated';
alter table sandboxes drop constraint sandboxes_state_check;
alter table sandboxes add constraint sandboxes_state_check
  check (state in ('creating', 'running', 'frozen', 'stopped', 'lost', 'destroyed'));
