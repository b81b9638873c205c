-- Up Migration
-- Names migrations without which no program can work with this database. A migration with which earlier versions cannot work adds its own name. Every program
-- reads this table when it connects, and refuses to go on if it lacks one of them.
create table schema_needs (migration text primary key);

-- Down Migration
drop table schema_needs;
