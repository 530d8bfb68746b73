-- One API's PostgreSQL tables hold lists and JSON in short columns; ours need room.
-- What is text already is not rewritten.
ALTER TABLE channels ALTER COLUMN "group" TYPE text, ALTER COLUMN model_mapping TYPE text,
  ALTER COLUMN test_model TYPE text;
ALTER TABLE users ALTER COLUMN "group" TYPE text;
ALTER TABLE abilities ALTER COLUMN "group" TYPE text;
