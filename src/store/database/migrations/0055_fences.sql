-- Up Migration
-- Numbers of containers. Each container that is made for a sandbox gets a number that no other of the installation has had, and a later one a higher one, also
-- when the row of a sandbox is removed and made again under its id.
create sequence sandbox_fences as integer;
-- `fence`: the number of the only container that may act for the sandbox. `volume_fence`: the number from which on its containers have had the files that it has
-- now; results that one with a lower number has brought are of files that are not there any more. 0: from before there were numbers.
alter table sandboxes add column fence integer not null default 0, add column volume_fence integer not null default 0;

-- Down Migration
alter table sandboxes drop column fence, drop column volume_fence;
drop sequence sandbox_fences;
