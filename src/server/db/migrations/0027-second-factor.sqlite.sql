-- The one-time password (TOTP, RFC 6238) that a user enters after the password.
CREATE TABLE second_factors (
  user_id integer PRIMARY KEY,
  -- Base32.
  secret text NOT NULL,
  -- Seconds; 0 until the user has entered a first code: sign-in does not ask for it before.
  enabled_at integer NOT NULL,
  -- The newest 30-second step whose code was used: a code counts once.
  last_step integer NOT NULL,
  created_at integer NOT NULL
);

-- Codes that replace a lost device. A used one is deleted.
CREATE TABLE recovery_codes (
  user_id integer NOT NULL,
  -- SHA-256 of the code.
  code_hash text NOT NULL,
  PRIMARY KEY (user_id, code_hash)
);

-- Sign-ins whose password was right and whose second factor is awaited.
CREATE TABLE second_factor_challenges (
  id_hash text PRIMARY KEY,
  user_id integer NOT NULL,
  must_change_password numeric NOT NULL,
  expires_at integer NOT NULL
);

-- When the person behind a session last proved who it is: by signing in, or again since. Seconds.
ALTER TABLE sessions ADD COLUMN verified_at integer NOT NULL DEFAULT 0;
-- What started a session: the browser's or program's own name, and the address it came from.
ALTER TABLE sessions ADD COLUMN user_agent text NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN address text NOT NULL DEFAULT '';
