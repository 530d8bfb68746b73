-- Whether there is a row in `limits`. Once set it stays, so that calls under way find their counts.
ALTER TABLE users ADD COLUMN limited boolean;
ALTER TABLE tokens ADD COLUMN limited boolean;

-- What a user or a token may use, and what it uses. 0: no limit of this kind. Whoever reads or
-- writes a row holds the lock of its user's or token's own row, so these need none.
CREATE TABLE limits (
  -- user, token
  subject text NOT NULL,
  id bigint NOT NULL,
  requests_per_minute bigint NOT NULL DEFAULT 0,
  tokens_per_minute bigint NOT NULL DEFAULT 0,
  calls_at_once bigint NOT NULL DEFAULT 0,
  quota_per_day bigint NOT NULL DEFAULT 0,
  quota_per_week bigint NOT NULL DEFAULT 0,
  quota_per_month bigint NOT NULL DEFAULT 0,
  -- Calls under way, and what they hold back.
  running bigint NOT NULL DEFAULT 0,
  held_tokens bigint NOT NULL DEFAULT 0,
  held_quota bigint NOT NULL DEFAULT 0,
  -- The last period in which something was spent, and what.
  day_start bigint NOT NULL DEFAULT 0,
  day_used bigint NOT NULL DEFAULT 0,
  week_start bigint NOT NULL DEFAULT 0,
  week_used bigint NOT NULL DEFAULT 0,
  month_start bigint NOT NULL DEFAULT 0,
  month_used bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (subject, id)
) WITH (fillfactor = 50);

-- Calls by the second in which they began, tokens by the second in which they were settled. Those of
-- the last minute count.
CREATE TABLE limit_seconds (
  subject text NOT NULL,
  id bigint NOT NULL,
  second bigint NOT NULL,
  requests bigint NOT NULL,
  tokens bigint NOT NULL,
  PRIMARY KEY (subject, id, second)
) WITH (fillfactor = 50);

-- What a call under way holds, and whose limits it counts against; 0: nobody's. It leaves with the
-- call's reservation.
CREATE TABLE limit_holds (
  request_id text PRIMARY KEY,
  user_id bigint NOT NULL,
  token_id bigint NOT NULL,
  tokens bigint NOT NULL,
  quota bigint NOT NULL
);

-- First seconds of the day, week (Monday) and month that a second lies in, in the operator's time
-- zone. A zone that this server does not know is UTC: no batch may fail for it.
CREATE FUNCTION gatehouse_limit_periods(now_seconds bigint) RETURNS bigint[]
LANGUAGE plpgsql STABLE
AS $periods$
DECLARE
  zone text;
  here timestamp;
BEGIN
  SELECT value INTO zone FROM options WHERE key = 'LimitTimeZone';
  BEGIN
    here := to_timestamp(now_seconds) AT TIME ZONE coalesce(nullif(zone, ''), 'UTC');
  EXCEPTION WHEN invalid_parameter_value THEN
    zone := 'UTC';
    here := to_timestamp(now_seconds) AT TIME ZONE zone;
  END;
  zone := coalesce(nullif(zone, ''), 'UTC');
  RETURN ARRAY[
    extract(epoch FROM date_trunc('day', here) AT TIME ZONE zone)::bigint,
    extract(epoch FROM date_trunc('week', here) AT TIME ZONE zone)::bigint,
    extract(epoch FROM date_trunc('month', here) AT TIME ZONE zone)::bigint];
END
$periods$;

-- Where a user or token stands with its limits, in the members of `LimitFacts` (limit.ts), and
-- whether a call that may need so many tokens and points fits them; null: it has no limits.
CREATE FUNCTION gatehouse_limit_facts(
  whose text, whose_id bigint, ask_tokens bigint, ask_quota bigint, now_seconds bigint,
  periods bigint[]
) RETURNS jsonb
LANGUAGE plpgsql
AS $facts$
DECLARE
  l limits;
  minute_requests bigint;
  minute_tokens bigint;
  fits boolean;
  slices jsonb := '[]';
BEGIN
  SELECT * INTO l FROM limits WHERE subject = whose AND id = whose_id;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  SELECT coalesce(sum(s.requests), 0), coalesce(sum(s.tokens), 0)
  INTO minute_requests, minute_tokens
  FROM limit_seconds s
  WHERE s.subject = whose AND s.id = whose_id AND s.second > now_seconds - 60;
  IF l.day_start < periods[1] THEN l.day_used := 0; END IF;
  IF l.week_start < periods[2] THEN l.week_used := 0; END IF;
  IF l.month_start < periods[3] THEN l.month_used := 0; END IF;
  fits := (l.requests_per_minute = 0 OR minute_requests < l.requests_per_minute)
    AND (l.tokens_per_minute = 0
      OR minute_tokens + l.held_tokens + ask_tokens <= l.tokens_per_minute)
    AND (l.calls_at_once = 0 OR l.running < l.calls_at_once)
    AND (ask_quota = 0 OR (
      (l.quota_per_day = 0 OR l.day_used + l.held_quota + ask_quota <= l.quota_per_day)
      AND (l.quota_per_week = 0 OR l.week_used + l.held_quota + ask_quota <= l.quota_per_week)
      AND (l.quota_per_month = 0
        OR l.month_used + l.held_quota + ask_quota <= l.quota_per_month)));
  IF NOT fits THEN
    -- When it frees is worked out from these by whoever tells the client.
    SELECT coalesce(jsonb_agg(jsonb_build_array(s.second, s.requests, s.tokens)
      ORDER BY s.second), '[]')
    INTO slices
    FROM limit_seconds s
    WHERE s.subject = whose AND s.id = whose_id AND s.second > now_seconds - 60;
  END IF;
  RETURN jsonb_build_object('subject', whose, 'fits', fits,
    'requestsMax', l.requests_per_minute, 'tokensMax', l.tokens_per_minute,
    'callsMax', l.calls_at_once, 'dayMax', l.quota_per_day, 'weekMax', l.quota_per_week,
    'monthMax', l.quota_per_month, 'running', l.running, 'heldTokens', l.held_tokens,
    'heldQuota', l.held_quota, 'dayUsed', l.day_used, 'weekUsed', l.week_used,
    'monthUsed', l.month_used, 'minuteRequests', minute_requests, 'minuteTokens', minute_tokens,
    'seconds', slices);
END
$facts$;

-- Counts a call that begins against one of them. What is older than a minute is forgotten
-- when a second has its first row.
CREATE FUNCTION gatehouse_limit_count(
  whose text, whose_id bigint, ask_tokens bigint, ask_quota bigint, now_seconds bigint
) RETURNS void
LANGUAGE plpgsql
AS $count$
BEGIN
  UPDATE limits
  SET running = running + 1, held_tokens = held_tokens + ask_tokens,
    held_quota = held_quota + ask_quota
  WHERE subject = whose AND id = whose_id;
  UPDATE limit_seconds SET requests = requests + 1
  WHERE subject = whose AND id = whose_id AND second = now_seconds;
  IF FOUND THEN
    RETURN;
  END IF;
  INSERT INTO limit_seconds (subject, id, second, requests, tokens)
  VALUES (whose, whose_id, now_seconds, 1, 0);
  DELETE FROM limit_seconds
  WHERE subject = whose AND id = whose_id AND second <= now_seconds - 60;
END
$count$;

-- Counts a call that begins. 0 as user or token: that one has no limits. What it does not fit into
-- is left as it is.
CREATE FUNCTION gatehouse_limits_take(
  request text, user_id bigint, token_id bigint, ask_tokens bigint, ask_quota bigint,
  now_seconds bigint
) RETURNS jsonb
LANGUAGE plpgsql
AS $take$
DECLARE
  periods bigint[] := gatehouse_limit_periods(now_seconds);
  of_token jsonb;
  of_user jsonb;
  fit boolean;
BEGIN
  IF token_id <> 0 THEN
    of_token :=
      gatehouse_limit_facts('token', token_id, ask_tokens, ask_quota, now_seconds, periods);
  END IF;
  IF user_id <> 0 THEN
    of_user := gatehouse_limit_facts('user', user_id, ask_tokens, ask_quota, now_seconds, periods);
  END IF;
  fit := coalesce((of_token ->> 'fits')::boolean, true)
    AND coalesce((of_user ->> 'fits')::boolean, true);
  IF fit THEN
    IF of_token IS NOT NULL THEN
      PERFORM gatehouse_limit_count('token', token_id, ask_tokens, ask_quota, now_seconds);
    END IF;
    IF of_user IS NOT NULL THEN
      PERFORM gatehouse_limit_count('user', user_id, ask_tokens, ask_quota, now_seconds);
    END IF;
    INSERT INTO limit_holds (request_id, user_id, token_id, tokens, quota)
    VALUES (request, CASE WHEN of_user IS NULL THEN 0 ELSE gatehouse_limits_take.user_id END,
      CASE WHEN of_token IS NULL THEN 0 ELSE gatehouse_limits_take.token_id END,
      ask_tokens, ask_quota);
  END IF;
  RETURN jsonb_build_object('fits', fit, 'facts',
    coalesce('[]'::jsonb || of_token, '[]') || coalesce(of_user, '[]'));
END
$take$;

-- Holds more for a call that has outgrown what it asked for.
CREATE FUNCTION gatehouse_limits_grow(request text, now_tokens bigint, now_quota bigint)
RETURNS void
LANGUAGE plpgsql
AS $grow$
DECLARE
  hold limit_holds;
  more_tokens bigint;
  more_quota bigint;
BEGIN
  SELECT * INTO hold FROM limit_holds WHERE request_id = request;
  more_tokens := greatest(0, now_tokens - hold.tokens);
  more_quota := greatest(0, now_quota - hold.quota);
  IF hold.request_id IS NULL OR more_tokens + more_quota = 0 THEN
    RETURN;
  END IF;
  UPDATE limit_holds SET tokens = tokens + more_tokens, quota = quota + more_quota
  WHERE request_id = request;
  UPDATE limits SET held_tokens = held_tokens + more_tokens, held_quota = held_quota + more_quota
  WHERE (subject = 'user' AND id = hold.user_id) OR (subject = 'token' AND id = hold.token_id);
END
$grow$;

-- Takes a call that has ended out of the counts of one of them, and books what it used; null as
-- periods: it was given back.
CREATE FUNCTION gatehouse_limit_let_go(
  whose text, whose_id bigint, hold limit_holds, used_tokens bigint, used_quota bigint,
  now_seconds bigint, periods bigint[]
) RETURNS void
LANGUAGE plpgsql
AS $let_go$
BEGIN
  IF periods IS NULL THEN
    UPDATE limits
    SET running = running - 1, held_tokens = held_tokens - hold.tokens,
      held_quota = held_quota - hold.quota
    WHERE subject = whose AND id = whose_id;
    RETURN;
  END IF;
  UPDATE limits
  SET running = running - 1, held_tokens = held_tokens - hold.tokens,
    held_quota = held_quota - hold.quota,
    day_used = used_quota + CASE WHEN day_start < periods[1] THEN 0 ELSE day_used END,
    week_used = used_quota + CASE WHEN week_start < periods[2] THEN 0 ELSE week_used END,
    month_used = used_quota + CASE WHEN month_start < periods[3] THEN 0 ELSE month_used END,
    day_start = greatest(day_start, periods[1]), week_start = greatest(week_start, periods[2]),
    month_start = greatest(month_start, periods[3])
  WHERE subject = whose AND id = whose_id;
  -- It may be gone.
  IF NOT FOUND THEN
    RETURN;
  END IF;
  UPDATE limit_seconds SET tokens = tokens + used_tokens
  WHERE subject = whose AND id = whose_id AND second = now_seconds;
  IF NOT FOUND THEN
    INSERT INTO limit_seconds (subject, id, second, requests, tokens)
    VALUES (whose, whose_id, now_seconds, 0, used_tokens);
    DELETE FROM limit_seconds
    WHERE subject = whose AND id = whose_id AND second <= now_seconds - 60;
  END IF;
END
$let_go$;

-- The same for whoever a call counted against; null as time: it was given back.
CREATE FUNCTION gatehouse_limits_close(
  request text, used_tokens bigint, used_quota bigint, now_seconds bigint
) RETURNS void
LANGUAGE plpgsql
AS $close$
DECLARE
  hold limit_holds;
  periods bigint[];
BEGIN
  DELETE FROM limit_holds WHERE request_id = request RETURNING * INTO hold;
  IF hold.request_id IS NULL THEN
    RETURN;
  END IF;
  IF now_seconds IS NOT NULL THEN
    periods := gatehouse_limit_periods(now_seconds);
  END IF;
  IF hold.token_id <> 0 THEN
    PERFORM gatehouse_limit_let_go(
      'token', hold.token_id, hold, used_tokens, used_quota, now_seconds, periods);
  END IF;
  IF hold.user_id <> 0 THEN
    PERFORM gatehouse_limit_let_go(
      'user', hold.user_id, hold, used_tokens, used_quota, now_seconds, periods);
  END IF;
END
$close$;
