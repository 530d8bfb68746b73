-- Channels that the program has disabled, and when a real call may try them again.
CREATE TABLE channel_pauses (
  channel_id bigint PRIMARY KEY,
  -- refused, slow or balance
  cause text NOT NULL,
  paused_at bigint NOT NULL,
  -- Calls that have tried it since.
  trials bigint NOT NULL,
  next_trial_at bigint NOT NULL
);

-- Changes of status by the program that root has not been told of yet.
CREATE TABLE channel_notices (
  id text PRIMARY KEY,
  created_at bigint NOT NULL,
  channel_id bigint NOT NULL,
  name text NOT NULL,
  status bigint NOT NULL,
  cause text NOT NULL,
  reason text NOT NULL
);
