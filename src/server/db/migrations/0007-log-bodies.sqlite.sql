-- Requests and answers that owners of tokens want to keep, beside the log and never in a list.

-- Tokens without a row keep nothing.
CREATE TABLE token_captures (
  token_id integer PRIMARY KEY,
  -- metadata, redacted or full
  mode text NOT NULL
);

CREATE TABLE log_bodies (
  request_id text PRIMARY KEY,
  -- As in the log row, so that the row is found by its time.
  created_at integer NOT NULL,
  user_id integer NOT NULL,
  mode text NOT NULL,
  -- UTF-8 texts, deflated; empty: there was none.
  request blob NOT NULL,
  response blob NOT NULL
);
CREATE INDEX gh_log_bodies_time ON log_bodies (created_at, request_id);

-- Calls that came to nothing: they cost nothing and have no log row, but people want to see how many.
CREATE TABLE failures_hourly (
  hour integer NOT NULL,
  user_id integer NOT NULL,
  -- 0 and empty: refused before a channel was chosen.
  channel_id integer NOT NULL,
  model_name text NOT NULL,
  token_name text NOT NULL,
  failures integer NOT NULL,
  PRIMARY KEY (hour, user_id, channel_id, model_name, token_name)
) WITHOUT ROWID;

-- Names in the filters of the log are looked up in the sums first; this finds a token's.
CREATE INDEX gh_usage_hourly_token ON usage_hourly (token_name, hour);
-- The few rows that are no calls, by name.
CREATE INDEX gh_logs_other_names ON logs (username, created_at, id) WHERE type <> 2;

-- Sums of the hourly sums, added up once an hour is over: statistics over months read few rows.
CREATE TABLE usage_sums (
  -- Of what, and by which unit: all, channel, username, token, own_token by day; all_hours,
  -- channel_hours by hour.
  subject text NOT NULL,
  -- Empty: all models.
  model_name text NOT NULL,
  name text NOT NULL,
  -- First second of the day or hour, UTC.
  start integer NOT NULL,
  requests integer NOT NULL,
  quota integer NOT NULL,
  prompt_tokens integer NOT NULL,
  completion_tokens integer NOT NULL,
  PRIMARY KEY (subject, model_name, name, start)
) WITHOUT ROWID;

-- The few rows that are no calls, newest first, with what filters look at beside their type.
CREATE INDEX gh_logs_other_time ON logs
  (created_at, id, user_id, channel_id, model_name, token_name, request_id) WHERE type <> 2;
