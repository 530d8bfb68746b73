-- Keys of a channel with several that are set aside because the upstream refused them.
CREATE TABLE channel_key_pauses (
  channel_id bigint NOT NULL,
  -- Beginning of the key's SHA-256.
  key_id text NOT NULL,
  -- What the upstream said: its status, and the code or type of its error.
  status bigint NOT NULL,
  cause text NOT NULL,
  paused_at bigint NOT NULL,
  -- Calls that have tried it since.
  trials bigint NOT NULL,
  next_trial_at bigint NOT NULL,
  PRIMARY KEY (channel_id, key_id)
);

-- With which of a channel's keys a response was made; empty: it had one.
ALTER TABLE response_channels ADD COLUMN key_id text NOT NULL DEFAULT '';

-- How calls went that the first choice did not simply answer, also those without a log row.
CREATE TABLE route_traces (
  request_id text PRIMARY KEY,
  created_at bigint NOT NULL,
  -- JSON.
  trace text NOT NULL
);
CREATE INDEX gh_route_traces_age ON route_traces (created_at);
