-- Kept in the order of their names: one tree instead of a table and an index beside it, and every
-- call writes here twice.
CREATE TABLE reservations_by_name (
  request_id text PRIMARY KEY,
  user_id integer NOT NULL,
  token_id integer NOT NULL,
  -- Points held back from the user, and from the token when it is limited.
  user_amount integer NOT NULL,
  token_amount integer NOT NULL,
  created_at integer NOT NULL,
  -- Which process holds it; recovery closes those of dead ones.
  node text NOT NULL,
  -- JSON of the settlement due if the process died now; empty until the upstream produced something.
  checkpoint text NOT NULL DEFAULT ''
) WITHOUT ROWID;
INSERT INTO reservations_by_name
  SELECT request_id, user_id, token_id, user_amount, token_amount, created_at, node, checkpoint
  FROM reservations;
DROP TABLE reservations;
ALTER TABLE reservations_by_name RENAME TO reservations;
