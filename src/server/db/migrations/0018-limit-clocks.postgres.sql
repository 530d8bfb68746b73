-- What a clock counted that was ahead must not stand in the way until that time comes. What lies
-- more than a minute ahead is not in the minute, and a day, week or month that begins more than an
-- hour ahead is none that runs. These replace the functions of 0012-limits.postgres.sql.

-- Where a user or token stands with its limits, in the members of `LimitFacts` (limit.ts), and
-- whether a call that may need so many tokens and points fits them; null: it has no limits.
CREATE OR REPLACE FUNCTION gatehouse_limit_facts(
  whose text, whose_id bigint, ask_tokens bigint, ask_quota bigint, now_seconds bigint,
  periods bigint[]
) RETURNS jsonb
LANGUAGE plpgsql
AS $facts$
DECLARE
  -- No period that runs begins later.
  latest bigint := now_seconds + 3600;
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
  WHERE s.subject = whose AND s.id = whose_id
    AND s.second > now_seconds - 60 AND s.second <= now_seconds + 60;
  IF l.day_start NOT BETWEEN periods[1] AND latest THEN l.day_used := 0; END IF;
  IF l.week_start NOT BETWEEN periods[2] AND latest THEN l.week_used := 0; END IF;
  IF l.month_start NOT BETWEEN periods[3] AND latest THEN l.month_used := 0; END IF;
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
    WHERE s.subject = whose AND s.id = whose_id
      AND s.second > now_seconds - 60 AND s.second <= now_seconds + 60;
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

-- Counts a call that begins against one of them. What lies a minute back or further ahead is
-- forgotten when a second has its first row.
CREATE OR REPLACE FUNCTION gatehouse_limit_count(
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
  WHERE subject = whose AND id = whose_id
    AND second NOT BETWEEN now_seconds - 59 AND now_seconds + 60;
END
$count$;

-- Takes a call that has ended out of the counts of one of them, and books what it used; null as
-- periods: it was given back.
CREATE OR REPLACE FUNCTION gatehouse_limit_let_go(
  whose text, whose_id bigint, hold limit_holds, used_tokens bigint, used_quota bigint,
  now_seconds bigint, periods bigint[]
) RETURNS void
LANGUAGE plpgsql
AS $let_go$
DECLARE
  latest bigint := now_seconds + 3600;
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
    day_used = used_quota
      + CASE WHEN day_start BETWEEN periods[1] AND latest THEN day_used ELSE 0 END,
    week_used = used_quota
      + CASE WHEN week_start BETWEEN periods[2] AND latest THEN week_used ELSE 0 END,
    month_used = used_quota
      + CASE WHEN month_start BETWEEN periods[3] AND latest THEN month_used ELSE 0 END,
    day_start =
      CASE WHEN day_start BETWEEN periods[1] AND latest THEN day_start ELSE periods[1] END,
    week_start =
      CASE WHEN week_start BETWEEN periods[2] AND latest THEN week_start ELSE periods[2] END,
    month_start =
      CASE WHEN month_start BETWEEN periods[3] AND latest THEN month_start ELSE periods[3] END
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
    WHERE subject = whose AND id = whose_id
      AND second NOT BETWEEN now_seconds - 59 AND now_seconds + 60;
  END IF;
END
$let_go$;
