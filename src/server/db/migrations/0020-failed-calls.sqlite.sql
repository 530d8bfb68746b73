-- Calls that came to nothing: they have no log row.
CREATE TABLE failed_calls (
  request_id text PRIMARY KEY,
  created_at integer NOT NULL,
  user_id integer NOT NULL,
  -- 0: no channel had been chosen.
  channel_id integer NOT NULL,
  model_name text NOT NULL,
  token_name text NOT NULL,
  -- What the client was told.
  status integer NOT NULL,
  code text NOT NULL,
  message text NOT NULL
);
CREATE INDEX gh_failed_calls_time ON failed_calls (created_at, request_id);
CREATE INDEX gh_failed_calls_user ON failed_calls (user_id, created_at, request_id);
