-- Gatehouse's own tables and the indexes of its lists.

-- Lists and filters read logs newest first by (created_at, id); each index ends so.
CREATE INDEX IF NOT EXISTS gh_logs_time ON logs (created_at, id);
CREATE INDEX IF NOT EXISTS gh_logs_user ON logs (user_id, created_at, id);
CREATE INDEX IF NOT EXISTS gh_logs_model ON logs (model_name, created_at, id);
CREATE INDEX IF NOT EXISTS gh_logs_channel ON logs (channel_id, created_at, id);
-- Consumption is nearly every row; the other types are found by this small index.
CREATE INDEX IF NOT EXISTS gh_logs_other_types ON logs (type, created_at, id) WHERE type <> 2;
CREATE INDEX IF NOT EXISTS gh_tokens_user ON tokens (user_id, id);

CREATE TABLE sessions (
  -- SHA-256 of the cookie's random part, hex.
  id_hash text PRIMARY KEY,
  user_id bigint NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  must_change_password boolean NOT NULL DEFAULT false
);
CREATE INDEX gh_sessions_user ON sessions (user_id);
CREATE INDEX gh_sessions_expiry ON sessions (expires_at);

CREATE TABLE access_tokens (
  user_id bigint PRIMARY KEY,
  -- SHA-256 of the token, hex.
  token_hash text NOT NULL UNIQUE,
  created_at bigint NOT NULL
);

CREATE TABLE settings (
  -- Facts of this installation that are no options: the session secret of a shared database, and the like.
  name text PRIMARY KEY,
  value text NOT NULL
);

-- The books. Append-only; balances are projections of it, written in the same transaction.
CREATE TABLE ledger (
  id bigserial PRIMARY KEY,
  created_at bigint NOT NULL,
  -- opening, grant, redeem, adjust, token, consume
  kind text NOT NULL,
  user_id bigint NOT NULL,
  token_id bigint NOT NULL DEFAULT 0,
  channel_id bigint NOT NULL DEFAULT 0,
  -- Points added to the user's balance; negative: taken.
  user_amount bigint NOT NULL,
  -- Points added to the token's remaining quota; negative: taken. 0 for unlimited tokens.
  token_amount bigint NOT NULL DEFAULT 0,
  -- What a consumption cost beyond what user and token could pay.
  debt bigint NOT NULL DEFAULT 0,
  token_debt bigint NOT NULL DEFAULT 0,
  prompt_tokens bigint NOT NULL DEFAULT 0,
  completion_tokens bigint NOT NULL DEFAULT 0,
  -- Who did it, 0: the program or the owner.
  actor_id bigint NOT NULL DEFAULT 0,
  -- One row per relayed call; redemption codes book as 'redeem:<code id>'.
  request_id text UNIQUE,
  -- JSON: the factors of a price, the reason of an adjustment.
  detail text NOT NULL DEFAULT ''
);
CREATE INDEX gh_ledger_user ON ledger (user_id, id) WHERE kind <> 'consume';

-- Calls under way. A row leaves when its call is settled or released, so the table stays small.
CREATE TABLE reservations (
  request_id text PRIMARY KEY,
  user_id bigint NOT NULL,
  token_id bigint NOT NULL,
  -- Points held back from the user, and from the token when it is limited.
  user_amount bigint NOT NULL,
  token_amount bigint NOT NULL,
  created_at bigint NOT NULL,
  -- Which process holds it; recovery closes those of dead ones.
  node text NOT NULL,
  -- JSON of the settlement due if the process died now; empty until the upstream produced something.
  checkpoint text NOT NULL DEFAULT ''
);

CREATE TABLE nodes (
  name text PRIMARY KEY,
  seen_at bigint NOT NULL
);

-- Sums of consumption rows, written with them. Hours and days are their first second, UTC.
CREATE TABLE usage_hourly (
  hour bigint NOT NULL,
  user_id bigint NOT NULL,
  username text NOT NULL,
  token_name text NOT NULL,
  model_name text NOT NULL,
  requests bigint NOT NULL,
  quota bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  PRIMARY KEY (user_id, hour, model_name, token_name, username)
);
CREATE INDEX gh_usage_hourly_hour ON usage_hourly (hour);
-- Names are matched as they were when a call was made; this finds the sums of one.
CREATE INDEX gh_usage_hourly_username ON usage_hourly (username, hour);

CREATE TABLE channel_usage_hourly (
  hour bigint NOT NULL,
  channel_id bigint NOT NULL,
  model_name text NOT NULL,
  requests bigint NOT NULL,
  quota bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  PRIMARY KEY (hour, channel_id, model_name)
);

-- What the dashboard shows; deleting log rows leaves it alone.
CREATE TABLE usage_daily (
  day bigint NOT NULL,
  user_id bigint NOT NULL,
  model_name text NOT NULL,
  requests bigint NOT NULL,
  quota bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  PRIMARY KEY (user_id, day, model_name)
);
