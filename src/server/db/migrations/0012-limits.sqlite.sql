-- Whether there is a row in `limits`. Once set it stays, so that calls under way find their counts.
ALTER TABLE users ADD COLUMN limited numeric;
ALTER TABLE tokens ADD COLUMN limited numeric;

-- What a user or a token may use, and what it uses. 0: no limit of this kind.
CREATE TABLE limits (
  -- user, token
  subject text NOT NULL,
  id integer NOT NULL,
  requests_per_minute integer NOT NULL DEFAULT 0,
  tokens_per_minute integer NOT NULL DEFAULT 0,
  calls_at_once integer NOT NULL DEFAULT 0,
  quota_per_day integer NOT NULL DEFAULT 0,
  quota_per_week integer NOT NULL DEFAULT 0,
  quota_per_month integer NOT NULL DEFAULT 0,
  -- Calls under way, and what they hold back.
  running integer NOT NULL DEFAULT 0,
  held_tokens integer NOT NULL DEFAULT 0,
  held_quota integer NOT NULL DEFAULT 0,
  -- The last period in which something was spent, and what.
  day_start integer NOT NULL DEFAULT 0,
  day_used integer NOT NULL DEFAULT 0,
  week_start integer NOT NULL DEFAULT 0,
  week_used integer NOT NULL DEFAULT 0,
  month_start integer NOT NULL DEFAULT 0,
  month_used integer NOT NULL DEFAULT 0,
  PRIMARY KEY (subject, id)
) WITHOUT ROWID;

-- Calls by the second in which they began, tokens by the second in which they were settled. Those of
-- the last minute count.
CREATE TABLE limit_seconds (
  subject text NOT NULL,
  id integer NOT NULL,
  second integer NOT NULL,
  requests integer NOT NULL,
  tokens integer NOT NULL,
  PRIMARY KEY (subject, id, second)
) WITHOUT ROWID;

-- What a call under way holds, and whose limits it counts against; 0: nobody's. It leaves with the
-- call's reservation.
CREATE TABLE limit_holds (
  request_id text PRIMARY KEY,
  user_id integer NOT NULL,
  token_id integer NOT NULL,
  tokens integer NOT NULL,
  quota integer NOT NULL
) WITHOUT ROWID;
