-- Where answers of the Responses API are kept: what follows one goes to the channel that made it.
-- Identities are the upstream's, and two upstreams may give the same one to two users.
CREATE TABLE response_channels (
  user_id integer NOT NULL,
  response_id text NOT NULL,
  channel_id integer NOT NULL,
  -- As the client named it.
  model text NOT NULL,
  -- What it read and wrote: the prompt of whatever follows begins with that.
  total_tokens integer NOT NULL,
  expires_at integer NOT NULL,
  PRIMARY KEY (user_id, response_id)
);
CREATE INDEX gh_response_channels_expiry ON response_channels (expires_at);
