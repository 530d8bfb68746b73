-- What the sums of channels lack on PostgreSQL (0036-channel-sums.postgres.sql). Here the ledger's
-- batches write the sums themselves, and it stays empty: queries are the same on both engines.
CREATE TABLE channel_settled (
  id integer PRIMARY KEY,
  hour integer NOT NULL,
  channel_id integer NOT NULL,
  model_name text NOT NULL,
  requests integer NOT NULL,
  quota integer NOT NULL,
  prompt_tokens integer NOT NULL,
  completion_tokens integer NOT NULL
);
