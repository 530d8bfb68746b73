-- Channels that the program has disabled, and when a real call may try them again.
CREATE TABLE channel_pauses (
  channel_id integer PRIMARY KEY,
  -- refused, slow or balance
  cause text NOT NULL,
  paused_at integer NOT NULL,
  -- Calls that have tried it since.
  trials integer NOT NULL,
  next_trial_at integer NOT NULL
);

-- Changes of status by the program that root has not been told of yet.
CREATE TABLE channel_notices (
  id text PRIMARY KEY,
  created_at integer NOT NULL,
  channel_id integer NOT NULL,
  name text NOT NULL,
  status integer NOT NULL,
  cause text NOT NULL,
  reason text NOT NULL
);
