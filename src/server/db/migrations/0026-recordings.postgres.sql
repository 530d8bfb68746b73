-- Calls that an operator wants recorded, to report a fault: `gatehouse record`.
CREATE TABLE recordings (
  -- Random.
  id text PRIMARY KEY,
  -- 0: any.
  channel_id bigint NOT NULL,
  token_id bigint NOT NULL,
  -- Still to be recorded, by all processes together.
  calls_left bigint NOT NULL,
  expires_at bigint NOT NULL
);

-- What was recorded, until the command has fetched it.
CREATE TABLE recorded_calls (
  request_id text PRIMARY KEY,
  recording_id text NOT NULL,
  -- JSON without secrets, deflated; empty: it was not recorded, for this reason.
  file bytea NOT NULL,
  reason text NOT NULL
);
