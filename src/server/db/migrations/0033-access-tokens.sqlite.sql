-- System access tokens with a name, scopes and an expiry, several for each user. The one of the wire
-- stays in access_tokens, where the version before looks for it.
CREATE TABLE named_access_tokens (
  -- SHA-256 of the token, hex.
  token_hash text PRIMARY KEY,
  user_id integer NOT NULL,
  name text NOT NULL,
  -- Comma list: all, read, logs, channels, tokens.
  scopes text NOT NULL,
  created_at integer NOT NULL,
  -- Seconds; 0 never.
  expires_at integer NOT NULL,
  -- Seconds, up to a minute behind; 0 if never used.
  used_at integer NOT NULL DEFAULT 0,
  used_address text NOT NULL DEFAULT ''
);
CREATE INDEX gh_named_access_tokens_user ON named_access_tokens (user_id, created_at);
ALTER TABLE access_tokens ADD COLUMN used_at integer NOT NULL DEFAULT 0;
ALTER TABLE access_tokens ADD COLUMN used_address text NOT NULL DEFAULT '';
