-- Codes that were mailed. One for each purpose and address: the last one counts.
CREATE TABLE mail_codes (
  -- verify, reset
  purpose text NOT NULL,
  -- Lower case.
  address text NOT NULL,
  -- bcrypt. What is stored opens nothing, however short the code.
  code_hash text NOT NULL,
  -- Whose password a reset code changes; 0 for the others.
  user_id integer NOT NULL,
  attempts_left integer NOT NULL,
  expires_at integer NOT NULL,
  PRIMARY KEY (purpose, address)
);
CREATE INDEX gh_mail_codes_expiry ON mail_codes (expires_at);

-- Visitors who passed the human check a short while ago.
CREATE TABLE human_checks (
  -- SHA-256 of the cookie, hex.
  id_hash text PRIMARY KEY,
  expires_at integer NOT NULL
);
CREATE INDEX gh_human_checks_expiry ON human_checks (expires_at);

-- What users were told about their balance, so that no process tells them again.
CREATE TABLE quota_reminders (
  user_id integer PRIMARY KEY,
  -- 0 nothing since the balance was last sufficient, 1 that it is low, 2 that it is used up.
  level integer NOT NULL,
  -- When the last mail of each kind was due.
  low_at integer NOT NULL DEFAULT 0,
  exhausted_at integer NOT NULL DEFAULT 0
);

-- Upper and lower case of an address are one mailbox.
CREATE INDEX gh_users_email ON users (lower(email));
