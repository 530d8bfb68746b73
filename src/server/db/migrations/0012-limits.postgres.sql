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

-- The ledger's batches on PostgreSQL: one call is one transaction. The same algorithm as
-- sqlite-batch.ts; whoever changes one changes both. This text replaces an earlier one.
--
-- Calls of users and tokens with limits are counted one by one by the functions above; the others
-- pay for it with a test of two flags.
--
-- Rows are read and written by set, so that the number of statements does not grow with the batch:
-- reservations, users and tokens are locked and read into arrays; the operations then move those
-- numbers in their order, in memory; what was moved is written at the end, sums once per row. What
-- was refused or found closed touches nothing.
--
-- Locks are taken in one order everywhere (reservations, users, tokens, channels, rollups; by key
-- inside each), so that processes wait for one another and never in a circle. Channels and their
-- rollup, which everybody writes, come last, just before the commit.
--
-- `operations` is an array of flat objects: the members of an operation and of its settlement side
-- by side, `checkpoint` the text to keep. They have been checked before (operationFault). The
-- answer is an array of results in the order of the operations.
--
-- Two settings go with the function. Its plans are made once: making them anew for each size of
-- batch would cost more than running them. And it looks rows up by their keys: a plan made while a
-- table was empty must not go on reading all of it later.
CREATE OR REPLACE FUNCTION gatehouse_ledger(operations jsonb) RETURNS jsonb
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $ledger$
DECLARE
  -- One element per operation.
  op_kind text[];
  op_id text[];
  op_user bigint[];
  op_token bigint[];
  op_amount bigint[];
  op_ask bigint[];
  op_now bigint[];
  op_node text[];
  op_checkpoint text[];
  op_channel bigint[];
  op_prompt bigint[];
  op_completion bigint[];
  op_username text[];
  op_token_name text[];
  op_model text[];
  op_detail text[];
  op_content text[];
  op_elapsed bigint[];
  op_stream boolean[];
  op_reset boolean[];
  op_log boolean[];
  -- One element per reservation: those found first, those opened here behind them. `held_found`:
  -- there is a row; `held_open`: there is to be one; `held_changed`: it differs from what is there.
  held_id text[];
  held_user bigint[];
  held_token bigint[];
  held_amount bigint[];
  held_token_amount bigint[];
  held_since bigint[];
  held_node text[];
  held_checkpoint text[];
  held_found boolean[];
  held_open boolean[];
  held_changed boolean[];
  billed text[] := '{}';
  -- One element per user.
  user_key bigint[];
  user_enabled boolean[];
  user_quota bigint[];
  user_used bigint[];
  user_calls bigint[];
  user_limited boolean[];
  user_touched boolean[];
  -- One element per token.
  token_key bigint[];
  token_enabled boolean[];
  token_expires bigint[];
  token_remain bigint[];
  token_used bigint[];
  token_accessed bigint[];
  token_unlimited boolean[];
  token_limited boolean[];
  token_touched boolean[];
  -- One element per operation again: what came of it. `out_kind` is the result's kind, or why it
  -- was refused.
  out_kind text[];
  out_user bigint[];
  out_token bigint[];
  out_charged bigint[];
  out_taken bigint[];
  out_debt bigint[];
  out_token_debt bigint[];
  out_left bigint[];
  out_limits jsonb[];
  -- Positions in the arrays above, and figures of the operation under way.
  h integer;
  u integer;
  t integer;
  amount bigint;
  charged bigint;
  taken bigint;
  more bigint;
  any_opened boolean := false;
  any_changed boolean := false;
  any_closed boolean := false;
  any_settled boolean := false;
BEGIN
  SELECT array_agg(x.kind), array_agg(x."requestId"), array_agg(x."userId"),
    array_agg(x."tokenId"), array_agg(coalesce(x.amount, x.cost)),
    array_agg(coalesce(x.tokens, 0)), array_agg(x."nowSeconds"),
    array_agg(x.node), array_agg(x.checkpoint), array_agg(x."channelId"),
    array_agg(x."promptTokens"), array_agg(x."completionTokens"), array_agg(x.username),
    array_agg(x."tokenName"), array_agg(x."modelName"), array_agg(x.detail), array_agg(x.content),
    array_agg(x."elapsedMs"), array_agg(x."isStream"), array_agg(x."systemPromptReset"),
    array_agg(x."keepLog")
  INTO op_kind, op_id, op_user, op_token, op_amount, op_ask, op_now, op_node, op_checkpoint,
    op_channel, op_prompt, op_completion, op_username, op_token_name, op_model, op_detail,
    op_content, op_elapsed, op_stream, op_reset, op_log
  FROM jsonb_to_recordset(operations) AS x (
    kind text, "requestId" text, "userId" bigint, "tokenId" bigint, amount bigint, cost bigint,
    tokens bigint, "nowSeconds" bigint, node text, checkpoint text, "channelId" bigint, "promptTokens" bigint,
    "completionTokens" bigint, username text, "tokenName" text, "modelName" text, detail text,
    content text, "elapsedMs" bigint, "isStream" boolean, "systemPromptReset" boolean,
    "keepLog" boolean);
  IF op_kind IS NULL THEN
    RETURN '[]';
  END IF;

  -- An aggregate over no rows is null: appending to null makes an array, and looking something up
  -- in it finds nothing.
  SELECT array_agg(r.request_id), array_agg(r.user_id), array_agg(r.token_id),
    array_agg(r.user_amount), array_agg(r.token_amount), array_agg(r.created_at),
    array_agg(r.node), array_agg(r.checkpoint), array_agg(true), array_agg(true), array_agg(false)
  INTO held_id, held_user, held_token, held_amount, held_token_amount, held_since, held_node,
    held_checkpoint, held_found, held_open, held_changed
  FROM (
    SELECT * FROM reservations WHERE request_id = ANY (op_id) ORDER BY request_id FOR UPDATE
  ) r;

  -- A request id is billed once, whatever happened. Read under the lock of its reservation.
  IF 'settle' = ANY (op_kind) THEN
    billed := ARRAY(SELECT l.request_id FROM ledger l WHERE l.request_id = ANY (op_id));
  END IF;

  -- What an adopted row leaves empty counts as 0, as One API reads it.
  SELECT array_agg(r.id), array_agg(r.status IS NOT DISTINCT FROM 1),
    array_agg(coalesce(r.quota, 0)), array_agg(coalesce(r.used_quota, 0)),
    array_agg(coalesce(r.request_count, 0)), array_agg(coalesce(r.limited, false)),
    array_agg(false)
  INTO user_key, user_enabled, user_quota, user_used, user_calls, user_limited, user_touched
  FROM (
    SELECT * FROM users WHERE id = ANY (op_user || held_user) ORDER BY id FOR NO KEY UPDATE
  ) r;

  SELECT array_agg(r.id), array_agg(r.status IS NOT DISTINCT FROM 1),
    array_agg(coalesce(r.expired_time, 0)), array_agg(coalesce(r.remain_quota, 0)),
    array_agg(coalesce(r.used_quota, 0)), array_agg(coalesce(r.accessed_time, 0)),
    array_agg(coalesce(r.unlimited_quota, false)), array_agg(coalesce(r.limited, false)),
    array_agg(false)
  INTO token_key, token_enabled, token_expires, token_remain, token_used, token_accessed,
    token_unlimited, token_limited, token_touched
  FROM (
    SELECT * FROM tokens WHERE id = ANY (op_token || held_token) ORDER BY id FOR NO KEY UPDATE
  ) r;

  out_kind := array_fill(NULL::text, ARRAY[cardinality(op_kind)]);
  out_user := array_fill(0::bigint, ARRAY[cardinality(op_kind)]);
  out_token := out_user;
  out_charged := out_user;
  out_taken := out_user;
  out_debt := out_user;
  out_token_debt := out_user;
  out_left := out_user;
  out_limits := array_fill(NULL::jsonb, ARRAY[cardinality(op_kind)]);

  FOR i IN 1 .. cardinality(op_kind) LOOP
    amount := op_amount[i];
    h := array_position(held_id, op_id[i]);

    IF op_kind[i] = 'reserve' THEN
      IF h IS NOT NULL AND held_open[h] THEN
        out_kind[i] := CASE WHEN held_node[h] = op_node[i] THEN 'reserved' ELSE 'invalid' END;
        CONTINUE;
      END IF;
      u := array_position(user_key, op_user[i]);
      IF u IS NULL OR NOT user_enabled[u] THEN
        out_kind[i] := 'user_unavailable';
        CONTINUE;
      END IF;
      t := array_position(token_key, op_token[i]);
      IF t IS NULL OR NOT token_enabled[t]
        OR (token_expires[t] <> -1 AND token_expires[t] < op_now[i])
      THEN
        out_kind[i] := 'token_unavailable';
        CONTINUE;
      END IF;
      IF user_quota[u] < amount THEN
        out_kind[i] := 'user_quota';
        CONTINUE;
      END IF;
      IF NOT token_unlimited[t] AND token_remain[t] < amount THEN
        out_kind[i] := 'token_quota';
        CONTINUE;
      END IF;
      IF user_limited[u] OR token_limited[t] THEN
        out_limits[i] := gatehouse_limits_take(op_id[i],
          CASE WHEN user_limited[u] THEN user_key[u] ELSE 0 END,
          CASE WHEN token_limited[t] THEN token_key[t] ELSE 0 END,
          op_ask[i], amount, op_now[i]);
        IF NOT (out_limits[i] -> 'fits')::boolean THEN
          out_kind[i] := 'limited';
          CONTINUE;
        END IF;
      END IF;
      taken := 0;
      IF NOT token_unlimited[t] THEN
        taken := amount;
        token_remain[t] := token_remain[t] - taken;
        token_touched[t] := true;
      END IF;
      user_quota[u] := user_quota[u] - amount;
      user_touched[u] := true;
      IF h IS NULL THEN
        h := coalesce(cardinality(held_id), 0) + 1;
        held_id[h] := op_id[i];
        held_found[h] := false;
        any_opened := true;
      ELSE
        -- Closed and opened again within the batch.
        any_changed := true;
      END IF;
      held_user[h] := op_user[i];
      held_token[h] := op_token[i];
      held_amount[h] := amount;
      held_token_amount[h] := taken;
      held_since[h] := op_now[i];
      held_node[h] := op_node[i];
      held_checkpoint[h] := '';
      held_open[h] := true;
      held_changed[h] := true;
      out_kind[i] := 'reserved';
      CONTINUE;
    END IF;

    IF h IS NULL OR NOT held_open[h] THEN
      out_kind[i] := 'closed';
      CONTINUE;
    END IF;
    u := array_position(user_key, held_user[h]);
    t := array_position(token_key, held_token[h]);

    IF op_kind[i] = 'checkpoint' THEN
      -- Holds back more when the answer has outgrown its reservation, as far as the balances go.
      IF u IS NOT NULL THEN
        more := greatest(0, least(amount - held_amount[h], user_quota[u]));
        IF more > 0 THEN
          user_quota[u] := user_quota[u] - more;
          user_touched[u] := true;
          held_amount[h] := held_amount[h] + more;
        END IF;
      END IF;
      IF t IS NOT NULL AND NOT token_unlimited[t] THEN
        more := greatest(0, least(amount - held_token_amount[h], token_remain[t]));
        IF more > 0 THEN
          token_remain[t] := token_remain[t] - more;
          token_touched[t] := true;
          held_token_amount[h] := held_token_amount[h] + more;
        END IF;
      END IF;
      -- Whoever is gone may have had limits.
      IF coalesce(user_limited[u], true) OR coalesce(token_limited[t], true) THEN
        PERFORM gatehouse_limits_grow(op_id[i], op_prompt[i] + op_completion[i], amount);
      END IF;
      held_checkpoint[h] := op_checkpoint[i];
      held_changed[h] := true;
      any_changed := true;
      out_kind[i] := 'checkpointed';
      CONTINUE;
    END IF;

    held_open[h] := false;
    any_closed := true;
    charged := 0;
    taken := 0;
    IF op_kind[i] = 'release' THEN
      out_kind[i] := 'released';
    ELSIF op_id[i] = ANY (billed) THEN
      -- Billed before under the same name: this reservation was one too many and goes back.
      out_kind[i] := 'closed';
    ELSE
      -- The reservation goes back first, then the cost is taken, down to zero and not below. Of a
      -- user who is gone only what was held back can be taken; a token that is gone or has become
      -- unlimited pays nothing.
      charged := least(amount, greatest(0, coalesce(user_quota[u], 0) + held_amount[h]));
      IF t IS NOT NULL AND NOT token_unlimited[t] THEN
        taken := least(charged, greatest(0, token_remain[t] + held_token_amount[h]));
        out_token_debt[i] := charged - taken;
      END IF;
      IF u IS NOT NULL THEN
        user_used[u] := user_used[u] + charged;
        user_calls[u] := user_calls[u] + 1;
        out_left[i] := user_quota[u] + held_amount[h] - charged;
      END IF;
      IF t IS NOT NULL THEN
        token_used[t] := token_used[t] + charged;
        token_accessed[t] := op_now[i];
      END IF;
      out_user[i] := held_user[h];
      out_token[i] := held_token[h];
      out_charged[i] := charged;
      out_taken[i] := taken;
      out_debt[i] := amount - charged;
      out_kind[i] := 'settled';
      billed := billed || op_id[i];
      any_settled := true;
    END IF;
    IF coalesce(user_limited[u], true) OR coalesce(token_limited[t], true) THEN
      PERFORM gatehouse_limits_close(op_id[i], op_prompt[i] + op_completion[i], charged,
        CASE WHEN out_kind[i] = 'settled' THEN op_now[i] END);
    END IF;
    IF u IS NOT NULL THEN
      user_quota[u] := user_quota[u] + held_amount[h] - charged;
      user_touched[u] := true;
    END IF;
    IF t IS NOT NULL THEN
      token_remain[t] := token_remain[t] + held_token_amount[h] - taken;
      token_touched[t] := true;
    END IF;
  END LOOP;

  IF any_closed THEN
    DELETE FROM reservations WHERE request_id = ANY (ARRAY(
      SELECT x.id FROM unnest(held_id, held_found, held_open) AS x (id, found, open)
      WHERE x.found AND NOT x.open));
  END IF;
  IF any_opened THEN
    -- A conflict means that another process opens the same name at this moment: the batch fails, is
    -- run again, and then finds it.
    INSERT INTO reservations
      (request_id, user_id, token_id, user_amount, token_amount, created_at, node, checkpoint)
    SELECT x.id, x.user_id, x.token_id, x.amount, x.token_amount, x.since, x.node, x.checkpoint
    FROM unnest(held_id, held_user, held_token, held_amount, held_token_amount, held_since,
      held_node, held_checkpoint, held_found, held_open)
      AS x (id, user_id, token_id, amount, token_amount, since, node, checkpoint, found, open)
    WHERE x.open AND NOT x.found;
  END IF;
  IF any_changed THEN
    UPDATE reservations r
    SET user_id = x.user_id, token_id = x.token_id, user_amount = x.amount,
      token_amount = x.token_amount, created_at = x.since, node = x.node, checkpoint = x.checkpoint
    FROM unnest(held_id, held_user, held_token, held_amount, held_token_amount, held_since,
      held_node, held_checkpoint, held_found, held_open, held_changed)
      AS x (id, user_id, token_id, amount, token_amount, since, node, checkpoint, found, open,
        changed)
    WHERE r.request_id = x.id AND x.found AND x.open AND x.changed;
  END IF;

  UPDATE users r SET quota = x.quota, used_quota = x.used, request_count = x.calls
  FROM unnest(user_key, user_quota, user_used, user_calls, user_touched)
    AS x (id, quota, used, calls, touched)
  WHERE r.id = x.id AND x.touched;
  UPDATE tokens r SET remain_quota = x.remain, used_quota = x.used, accessed_time = x.accessed
  FROM unnest(token_key, token_remain, token_used, token_accessed, token_touched)
    AS x (id, remain, used, accessed, touched)
  WHERE r.id = x.id AND x.touched;

  IF any_settled THEN
    INSERT INTO ledger (created_at, kind, user_id, token_id, channel_id, user_amount, token_amount,
      debt, token_debt, prompt_tokens, completion_tokens, request_id, detail)
    SELECT x.now, 'consume', x.user_id, x.token_id, x.channel, -x.charged, -x.taken, x.debt,
      x.token_debt, x.prompt, x.completion, x.id, x.detail
    FROM unnest(out_kind, out_user, out_token, out_charged, out_taken, out_debt, out_token_debt,
      op_id, op_now, op_channel, op_prompt, op_completion, op_detail)
      AS x (kind, user_id, token_id, charged, taken, debt, token_debt, id, now, channel, prompt,
        completion, detail)
    WHERE x.kind = 'settled';

    INSERT INTO logs (user_id, created_at, type, content, username, token_name, model_name, quota,
      prompt_tokens, completion_tokens, channel_id, request_id, elapsed_time, is_stream,
      system_prompt_reset)
    SELECT x.user_id, x.now, 2, x.content, x.username, x.token_name, x.model, x.charged, x.prompt,
      x.completion, x.channel, x.id, x.elapsed, x.stream, x.reset
    FROM unnest(out_kind, out_user, out_charged, op_id, op_now, op_channel, op_prompt,
      op_completion, op_content, op_username, op_token_name, op_model, op_elapsed, op_stream,
      op_reset, op_log)
      AS x (kind, user_id, charged, id, now, channel, prompt, completion, content, username,
        token_name, model, elapsed, stream, reset, log)
    WHERE x.kind = 'settled' AND x.log;

    INSERT INTO usage_hourly AS r (user_id, hour, model_name, token_name, username, requests,
      quota, prompt_tokens, completion_tokens)
    SELECT x.user_id, x.now - x.now % 3600, x.model, x.token_name, x.username, count(*),
      sum(x.charged), sum(x.prompt), sum(x.completion)
    FROM unnest(out_kind, out_user, out_charged, op_now, op_prompt, op_completion, op_username,
      op_token_name, op_model)
      AS x (kind, user_id, charged, now, prompt, completion, username, token_name, model)
    WHERE x.kind = 'settled' GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (user_id, hour, model_name, token_name, username) DO UPDATE SET
      requests = r.requests + excluded.requests, quota = r.quota + excluded.quota,
      prompt_tokens = r.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = r.completion_tokens + excluded.completion_tokens;

    INSERT INTO usage_daily AS r (user_id, day, model_name, requests, quota, prompt_tokens,
      completion_tokens)
    SELECT x.user_id, x.now - x.now % 86400, x.model, count(*), sum(x.charged), sum(x.prompt),
      sum(x.completion)
    FROM unnest(out_kind, out_user, out_charged, op_now, op_prompt, op_completion, op_model)
      AS x (kind, user_id, charged, now, prompt, completion, model)
    WHERE x.kind = 'settled' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (user_id, day, model_name) DO UPDATE SET
      requests = r.requests + excluded.requests, quota = r.quota + excluded.quota,
      prompt_tokens = r.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = r.completion_tokens + excluded.completion_tokens;

    PERFORM 1 FROM channels WHERE id = ANY (op_channel) ORDER BY id FOR NO KEY UPDATE;
    UPDATE channels r SET used_quota = coalesce(r.used_quota, 0) + x.charged
    FROM (
      SELECT y.channel, sum(y.charged)::bigint AS charged
      FROM unnest(out_kind, op_channel, out_charged) AS y (kind, channel, charged)
      WHERE y.kind = 'settled' GROUP BY y.channel
    ) x
    WHERE r.id = x.channel;

    INSERT INTO channel_usage_hourly AS r (hour, channel_id, model_name, requests, quota,
      prompt_tokens, completion_tokens)
    SELECT x.now - x.now % 3600, x.channel, x.model, count(*), sum(x.charged), sum(x.prompt),
      sum(x.completion)
    FROM unnest(out_kind, out_charged, op_now, op_channel, op_prompt, op_completion, op_model)
      AS x (kind, charged, now, channel, prompt, completion, model)
    WHERE x.kind = 'settled' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (hour, channel_id, model_name) DO UPDATE SET
      requests = r.requests + excluded.requests, quota = r.quota + excluded.quota,
      prompt_tokens = r.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = r.completion_tokens + excluded.completion_tokens;
  END IF;

  RETURN (
    SELECT jsonb_agg(CASE
      WHEN x.kind = 'settled' THEN jsonb_build_object(
        'kind', x.kind, 'charged', x.charged, 'debt', x.debt, 'userQuota', x.remaining)
      WHEN x.kind = 'invalid' THEN jsonb_build_object(
        'kind', x.kind, 'message', 'another process holds this name')
      WHEN x.limits IS NOT NULL THEN jsonb_build_object(
        'kind', CASE x.kind WHEN 'limited' THEN 'limited' ELSE 'reserved' END,
        'facts', x.limits -> 'facts')
      WHEN x.kind IN ('reserved', 'checkpointed', 'released', 'closed') THEN
        jsonb_build_object('kind', x.kind)
      ELSE jsonb_build_object('kind', 'refused', 'reason', x.kind)
    END ORDER BY x.position)
    FROM unnest(out_kind, out_charged, out_debt, out_left, out_limits) WITH ORDINALITY
      AS x (kind, charged, debt, remaining, limits, position));
END
$ledger$;
