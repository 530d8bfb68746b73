-- Where the write-ahead log was when a user had changed something through the management API, in
-- bytes. Written only with SQL_READ_DSN: until the replica has replayed that position, the user's
-- lists are read from the primary.
CREATE TABLE last_writes (
  user_id bigint PRIMARY KEY,
  position bigint NOT NULL
);
