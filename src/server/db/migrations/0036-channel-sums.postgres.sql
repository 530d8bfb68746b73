-- The sums of channels leave the ledger's batches. All calls of a channel share its row and its row
-- of the hour, so a batch that updated them made those of all other processes wait for its commit: on
-- a synchronous replica, one batch at a time for the whole installation. A batch now adds rows here,
-- which nobody waits for, and every process adds them up every two seconds
-- (gatehouse_channel_sums). Until then `channels.used_quota` and `channel_usage_hourly` lack them.
CREATE TABLE channel_settled (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hour bigint NOT NULL,
  channel_id bigint NOT NULL,
  model_name text NOT NULL,
  requests bigint NOT NULL,
  quota bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL
);

-- Adds up to 10,000 rows to the sums and deletes them, in one transaction. Returns how many there
-- were; 0 also if another process is doing it. Locks in the order of gatehouse_ledger_batch_2.
CREATE FUNCTION gatehouse_channel_sums() RETURNS integer
LANGUAGE plpgsql
AS $sums$
DECLARE
  taken channel_settled[];
BEGIN
  IF NOT pg_try_advisory_xact_lock(7235502) THEN
    RETURN 0;
  END IF;
  WITH gone AS (
    DELETE FROM channel_settled r
    WHERE r.id IN (SELECT s.id FROM channel_settled s ORDER BY s.id LIMIT 10000)
    RETURNING r
  )
  SELECT array_agg(r) INTO taken FROM gone;
  IF taken IS NULL THEN
    RETURN 0;
  END IF;
  PERFORM 1 FROM channels
  WHERE id IN (SELECT x.channel_id FROM unnest(taken) x) ORDER BY id FOR NO KEY UPDATE;
  UPDATE channels r SET used_quota = coalesce(r.used_quota, 0) + x.quota
  FROM (
    SELECT y.channel_id, sum(y.quota)::bigint AS quota FROM unnest(taken) y GROUP BY 1
  ) x
  WHERE r.id = x.channel_id;
  INSERT INTO channel_usage_hourly AS r (hour, channel_id, model_name, requests, quota,
    prompt_tokens, completion_tokens)
  SELECT x.hour, x.channel_id, x.model_name, sum(x.requests), sum(x.quota), sum(x.prompt_tokens),
    sum(x.completion_tokens)
  FROM unnest(taken) x
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (hour, channel_id, model_name) DO UPDATE SET
    requests = r.requests + excluded.requests, quota = r.quota + excluded.quota,
    prompt_tokens = r.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = r.completion_tokens + excluded.completion_tokens;
  RETURN cardinality(taken);
END
$sums$;

-- The ledger's batches on PostgreSQL: one call is one transaction. The same algorithm as
-- sqlite-batch.ts, except for the sums of channels; whoever changes one changes both. The functions
-- of earlier versions, gatehouse_ledger, gatehouse_ledger_batch and gatehouse_ledger_batch_2, stay:
-- during an update another process may still call them.
--
-- Calls of users and tokens with limits are counted one by one by the functions of
-- 0012-limits.postgres.sql; the others pay for it with a test of two flags.
--
-- Rows are read and written by set, so that the number of statements does not grow with the batch:
-- reservations, users and tokens are locked and read into arrays; the operations then move those
-- numbers in their order, in memory; what was moved is written at the end, sums once per row. What
-- was refused or found closed touches nothing. Rows to be written are collected as rows: a list for
-- each column costs a function scan each, in every statement.
--
-- Locks are taken in one order everywhere (reservations, users, tokens, rollups of users; by key
-- inside each), so that processes wait for one another and never in a circle. No row is left that
-- calls of different users share.
--
-- No two of `operations` have the same request id; they have been checked before (operationFault).
-- The lists beside them hold each id that occurs in them once; `channel_ids` those of settled calls
-- only, so that it is empty when nothing is settled. The answer is an array of results in the order
-- of the operations.
--
-- Every batch is as durable as the operator wants it, unlike on SQLite, where holding points back is
-- not: this server can fall while the gateway goes on serving the call, and a settlement that finds
-- no reservation is not booked.
--
-- Two settings go with the function. Its plans are made once: making them anew for each size of
-- batch would cost more than running them. And it looks rows up by their keys: a plan made while a
-- table was empty must not go on reading all of it later.
CREATE FUNCTION gatehouse_ledger_batch_3(
  operations gatehouse_ledger_operation[],
  request_ids text[],
  user_ids bigint[],
  token_ids bigint[],
  channel_ids bigint[]
) RETURNS json
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $ledger$
DECLARE
  op gatehouse_ledger_operation;
  -- What came of each, as JSON texts.
  results text[] := '{}';
  result text;
  -- One element per open reservation.
  held_id text[];
  held_user bigint[];
  held_token bigint[];
  held reservations[];
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
  token_address text[];
  token_unlimited boolean[];
  token_limited boolean[];
  token_touched boolean[];
  -- Rows to be written.
  closed text[] := '{}';
  opened reservations[] := '{}';
  changed reservations[] := '{}';
  settled gatehouse_ledger_settled[] := '{}';
  -- The operation's reservation, positions in the arrays above, and figures.
  reservation reservations;
  h integer;
  u integer;
  t integer;
  charged bigint;
  taken bigint;
  uncovered bigint;
  more bigint;
  is_settled boolean;
  limits jsonb;
BEGIN
  -- An aggregate over no rows is null: looking something up in it finds nothing, and it adds nothing
  -- to a list.
  SELECT array_agg((x.r).request_id), array_agg((x.r).user_id), array_agg((x.r).token_id),
    array_agg(x.r)
  INTO held_id, held_user, held_token, held
  FROM (
    SELECT r FROM reservations r WHERE request_id = ANY (request_ids) ORDER BY request_id FOR UPDATE
  ) x;

  -- A request id is billed once, whatever happened. Read under the lock of its reservation.
  IF cardinality(channel_ids) > 0 THEN
    billed := ARRAY(SELECT l.request_id FROM ledger l WHERE l.request_id = ANY (request_ids));
  END IF;

  -- What an adopted row leaves empty counts as 0, as One API reads it.
  SELECT array_agg(r.id), array_agg(r.status IS NOT DISTINCT FROM 1),
    array_agg(coalesce(r.quota, 0)), array_agg(coalesce(r.used_quota, 0)),
    array_agg(coalesce(r.request_count, 0)), array_agg(coalesce(r.limited, false)),
    array_agg(false)
  INTO user_key, user_enabled, user_quota, user_used, user_calls, user_limited, user_touched
  FROM (
    SELECT * FROM users WHERE id = ANY (user_ids || held_user) ORDER BY id FOR NO KEY UPDATE
  ) r;

  SELECT array_agg(r.id), array_agg(r.status IS NOT DISTINCT FROM 1),
    array_agg(coalesce(r.expired_time, 0)), array_agg(coalesce(r.remain_quota, 0)),
    array_agg(coalesce(r.used_quota, 0)), array_agg(coalesce(r.accessed_time, 0)),
    array_agg(coalesce(r.unlimited_quota, false)), array_agg(coalesce(r.limited, false)),
    array_agg(false), array_agg(r.gh_last_ip)
  INTO token_key, token_enabled, token_expires, token_remain, token_used, token_accessed,
    token_unlimited, token_limited, token_touched, token_address
  FROM (
    SELECT * FROM tokens WHERE id = ANY (token_ids || held_token) ORDER BY id FOR NO KEY UPDATE
  ) r;

  FOREACH op IN ARRAY operations LOOP
    h := array_position(held_id, op.request_id);

    IF op.kind = 'reserve' THEN
      IF h IS NOT NULL THEN
        reservation := held[h];
        results := results || CASE WHEN reservation.node = op.node THEN '{"kind":"reserved"}'
          ELSE '{"kind":"invalid","message":"another process holds this name"}' END;
        CONTINUE;
      END IF;
      u := array_position(user_key, op.user_id);
      IF u IS NULL OR NOT user_enabled[u] THEN
        results := results || '{"kind":"refused","reason":"user_unavailable"}'::text;
        CONTINUE;
      END IF;
      t := array_position(token_key, op.token_id);
      IF t IS NULL OR NOT token_enabled[t]
        OR (token_expires[t] <> -1 AND token_expires[t] < op.now_seconds)
      THEN
        results := results || '{"kind":"refused","reason":"token_unavailable"}'::text;
        CONTINUE;
      END IF;
      IF user_quota[u] < op.amount THEN
        results := results || '{"kind":"refused","reason":"user_quota"}'::text;
        CONTINUE;
      END IF;
      IF NOT token_unlimited[t] AND token_remain[t] < op.amount THEN
        results := results || '{"kind":"refused","reason":"token_quota"}'::text;
        CONTINUE;
      END IF;
      result := '{"kind":"reserved"}';
      IF user_limited[u] OR token_limited[t] THEN
        limits := gatehouse_limits_take(op.request_id,
          CASE WHEN user_limited[u] THEN user_key[u] ELSE 0 END,
          CASE WHEN token_limited[t] THEN token_key[t] ELSE 0 END,
          coalesce(op.tokens, 0), op.amount, op.now_seconds);
        IF NOT (limits -> 'fits')::boolean THEN
          results := results ||
            jsonb_build_object('kind', 'limited', 'facts', limits -> 'facts')::text;
          CONTINUE;
        END IF;
        result := jsonb_build_object('kind', 'reserved', 'facts', limits -> 'facts');
      END IF;
      taken := 0;
      IF NOT token_unlimited[t] THEN
        taken := op.amount;
        token_remain[t] := token_remain[t] - taken;
        token_touched[t] := true;
      END IF;
      user_quota[u] := user_quota[u] - op.amount;
      user_touched[u] := true;
      opened := opened || ROW(op.request_id, op.user_id, op.token_id, op.amount, taken,
        op.now_seconds, op.node, '')::reservations;
      results := results || result;
      CONTINUE;
    END IF;

    IF h IS NULL THEN
      results := results || '{"kind":"closed"}'::text;
      CONTINUE;
    END IF;
    reservation := held[h];
    u := array_position(user_key, reservation.user_id);
    t := array_position(token_key, reservation.token_id);

    IF op.kind = 'checkpoint' THEN
      -- Holds back more when the answer has outgrown its reservation, as far as the balances go.
      IF u IS NOT NULL THEN
        more := greatest(0, least(op.amount - reservation.user_amount, user_quota[u]));
        IF more > 0 THEN
          user_quota[u] := user_quota[u] - more;
          user_touched[u] := true;
          reservation.user_amount := reservation.user_amount + more;
        END IF;
      END IF;
      IF t IS NOT NULL AND NOT token_unlimited[t] THEN
        more := greatest(0, least(op.amount - reservation.token_amount, token_remain[t]));
        IF more > 0 THEN
          token_remain[t] := token_remain[t] - more;
          token_touched[t] := true;
          reservation.token_amount := reservation.token_amount + more;
        END IF;
      END IF;
      -- Whoever is gone may have had limits.
      IF coalesce(user_limited[u], true) OR coalesce(token_limited[t], true) THEN
        PERFORM gatehouse_limits_grow(
          op.request_id, op.prompt_tokens + op.completion_tokens, op.amount);
      END IF;
      reservation.checkpoint := op.checkpoint;
      changed := changed || reservation;
      -- What is held for the call, at most what it asked for.
      more := reservation.user_amount;
      IF t IS NOT NULL AND NOT token_unlimited[t] THEN
        more := least(more, reservation.token_amount);
      END IF;
      results := results || ('{"kind":"checkpointed","held":' || more || '}');
      CONTINUE;
    END IF;

    closed := closed || op.request_id;
    charged := 0;
    taken := 0;
    is_settled := false;
    IF op.kind = 'release' THEN
      result := '{"kind":"released"}';
    ELSIF op.request_id = ANY (billed) THEN
      -- Billed before under the same name: this reservation was one too many and goes back.
      result := '{"kind":"closed"}';
    ELSE
      is_settled := true;
      -- The reservation goes back first, then the whole cost is taken: a balance that does not cover
      -- it goes below zero, and the next credit pays that. Of a user who is gone only what was held
      -- back can be taken; a token that is gone or has become unlimited pays nothing.
      IF u IS NOT NULL THEN
        charged := op.amount;
        uncovered := least(charged,
          greatest(0, charged - user_quota[u] - reservation.user_amount));
      ELSE
        charged := least(op.amount, reservation.user_amount);
        uncovered := op.amount - charged;
      END IF;
      more := 0;
      IF t IS NOT NULL THEN
        IF NOT token_unlimited[t] THEN
          more := least(charged, greatest(0, charged - token_remain[t] - reservation.token_amount));
          taken := CASE WHEN u IS NOT NULL THEN charged ELSE charged - more END;
        END IF;
        token_used[t] := token_used[t] + charged;
        token_accessed[t] := op.now_seconds;
        -- A settlement has the client's address in place of the process.
        token_address[t] := coalesce(op.node, token_address[t]);
      END IF;
      IF u IS NOT NULL THEN
        user_used[u] := user_used[u] + charged;
        user_calls[u] := user_calls[u] + 1;
      END IF;
      settled := settled || ROW(op.request_id, reservation.user_id, reservation.token_id, charged,
        taken, uncovered, more, op.now_seconds, op.channel_id, op.prompt_tokens,
        op.completion_tokens, op.username, op.token_name, op.model_name, op.detail, op.content,
        op.elapsed_ms, op.is_stream, op.system_prompt_reset, op.keep_log
      )::gatehouse_ledger_settled;
      result := '{"kind":"settled","charged":' || charged || ',"debt":' || uncovered
        || ',"userQuota":' || coalesce(user_quota[u] + reservation.user_amount - charged, 0) || '}';
    END IF;
    IF coalesce(user_limited[u], true) OR coalesce(token_limited[t], true) THEN
      PERFORM gatehouse_limits_close(op.request_id, op.prompt_tokens + op.completion_tokens,
        charged, CASE WHEN is_settled THEN op.now_seconds END);
    END IF;
    IF u IS NOT NULL THEN
      user_quota[u] := user_quota[u] + reservation.user_amount - charged;
      user_touched[u] := true;
    END IF;
    IF t IS NOT NULL THEN
      token_remain[t] := token_remain[t] + reservation.token_amount - taken;
      token_touched[t] := true;
    END IF;
    results := results || result;
  END LOOP;

  IF cardinality(closed) > 0 THEN
    DELETE FROM reservations WHERE request_id = ANY (closed);
  END IF;
  IF cardinality(opened) > 0 THEN
    -- A conflict means that another process opens the same name at this moment: the batch fails, is
    -- run again, and then finds it.
    INSERT INTO reservations
      (request_id, user_id, token_id, user_amount, token_amount, created_at, node, checkpoint)
    SELECT x.request_id, x.user_id, x.token_id, x.user_amount, x.token_amount, x.created_at,
      x.node, x.checkpoint
    FROM unnest(opened) x;
  END IF;
  IF cardinality(changed) > 0 THEN
    UPDATE reservations r
    SET user_amount = x.user_amount, token_amount = x.token_amount, checkpoint = x.checkpoint
    FROM unnest(changed) x
    WHERE r.request_id = x.request_id;
  END IF;

  UPDATE users r SET quota = x.quota, used_quota = x.used, request_count = x.calls
  FROM unnest(user_key, user_quota, user_used, user_calls, user_touched)
    AS x (id, quota, used, calls, touched)
  WHERE r.id = x.id AND x.touched;
  UPDATE tokens r SET remain_quota = x.remain, used_quota = x.used, accessed_time = x.accessed,
    gh_last_ip = x.address
  FROM unnest(token_key, token_remain, token_used, token_accessed, token_address, token_touched)
    AS x (id, remain, used, accessed, address, touched)
  WHERE r.id = x.id AND x.touched;

  IF cardinality(settled) > 0 THEN
    INSERT INTO ledger (created_at, kind, user_id, token_id, channel_id, user_amount, token_amount,
      debt, token_debt, carried, prompt_tokens, completion_tokens, request_id, detail)
    SELECT x.now_seconds, 'consume', x.user_id, x.token_id, x.channel_id, -x.charged, -x.taken,
      x.debt, x.token_debt, coalesce(x.user_id = ANY (user_key), false), x.prompt_tokens, x.completion_tokens,
      x.request_id, x.detail
    FROM unnest(settled) x;

    INSERT INTO logs (user_id, created_at, type, content, username, token_name, model_name, quota,
      prompt_tokens, completion_tokens, channel_id, request_id, elapsed_time, is_stream,
      system_prompt_reset)
    SELECT x.user_id, x.now_seconds, 2, x.content, x.username, x.token_name, x.model_name,
      x.charged, x.prompt_tokens, x.completion_tokens, x.channel_id, x.request_id, x.elapsed_ms,
      x.is_stream, x.system_prompt_reset
    FROM unnest(settled) x
    WHERE x.keep_log;

    INSERT INTO usage_hourly AS r (user_id, hour, model_name, token_name, username, requests,
      quota, prompt_tokens, completion_tokens)
    SELECT x.user_id, x.now_seconds - x.now_seconds % 3600, x.model_name, x.token_name, x.username,
      count(*), sum(x.charged), sum(x.prompt_tokens), sum(x.completion_tokens)
    FROM unnest(settled) x
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (user_id, hour, model_name, token_name, username) DO UPDATE SET
      requests = r.requests + excluded.requests, quota = r.quota + excluded.quota,
      prompt_tokens = r.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = r.completion_tokens + excluded.completion_tokens;

    INSERT INTO usage_daily AS r (user_id, day, model_name, requests, quota, prompt_tokens,
      completion_tokens)
    SELECT x.user_id, x.now_seconds - x.now_seconds % 86400, x.model_name, count(*),
      sum(x.charged), sum(x.prompt_tokens), sum(x.completion_tokens)
    FROM unnest(settled) x
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (user_id, day, model_name) DO UPDATE SET
      requests = r.requests + excluded.requests, quota = r.quota + excluded.quota,
      prompt_tokens = r.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = r.completion_tokens + excluded.completion_tokens;

    INSERT INTO channel_settled (hour, channel_id, model_name, requests, quota, prompt_tokens,
      completion_tokens)
    SELECT x.now_seconds - x.now_seconds % 3600, x.channel_id, x.model_name, count(*),
      sum(x.charged), sum(x.prompt_tokens), sum(x.completion_tokens)
    FROM unnest(settled) x
    GROUP BY 1, 2, 3;
  END IF;

  RETURN '[' || array_to_string(results, ',') || ']';
END
$ledger$;
