-- The ledger's batches on PostgreSQL: one call is one transaction. The same algorithm as
-- sqlite-batch.ts; whoever changes one changes both.
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
CREATE FUNCTION gatehouse_ledger(operations jsonb) RETURNS jsonb
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
  user_touched boolean[];
  -- One element per token.
  token_key bigint[];
  token_enabled boolean[];
  token_expires bigint[];
  token_remain bigint[];
  token_used bigint[];
  token_accessed bigint[];
  token_unlimited boolean[];
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
    array_agg(x."tokenId"), array_agg(coalesce(x.amount, x.cost)), array_agg(x."nowSeconds"),
    array_agg(x.node), array_agg(x.checkpoint), array_agg(x."channelId"),
    array_agg(x."promptTokens"), array_agg(x."completionTokens"), array_agg(x.username),
    array_agg(x."tokenName"), array_agg(x."modelName"), array_agg(x.detail), array_agg(x.content),
    array_agg(x."elapsedMs"), array_agg(x."isStream"), array_agg(x."systemPromptReset"),
    array_agg(x."keepLog")
  INTO op_kind, op_id, op_user, op_token, op_amount, op_now, op_node, op_checkpoint, op_channel,
    op_prompt, op_completion, op_username, op_token_name, op_model, op_detail, op_content,
    op_elapsed, op_stream, op_reset, op_log
  FROM jsonb_to_recordset(operations) AS x (
    kind text, "requestId" text, "userId" bigint, "tokenId" bigint, amount bigint, cost bigint,
    "nowSeconds" bigint, node text, checkpoint text, "channelId" bigint, "promptTokens" bigint,
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
    array_agg(coalesce(r.request_count, 0)), array_agg(false)
  INTO user_key, user_enabled, user_quota, user_used, user_calls, user_touched
  FROM (
    SELECT * FROM users WHERE id = ANY (op_user || held_user) ORDER BY id FOR NO KEY UPDATE
  ) r;

  SELECT array_agg(r.id), array_agg(r.status IS NOT DISTINCT FROM 1),
    array_agg(coalesce(r.expired_time, 0)), array_agg(coalesce(r.remain_quota, 0)),
    array_agg(coalesce(r.used_quota, 0)), array_agg(coalesce(r.accessed_time, 0)),
    array_agg(coalesce(r.unlimited_quota, false)), array_agg(false)
  INTO token_key, token_enabled, token_expires, token_remain, token_used, token_accessed,
    token_unlimited, token_touched
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
      taken := 0;
      IF NOT token_unlimited[t] THEN
        IF token_remain[t] < amount THEN
          out_kind[i] := 'token_quota';
          CONTINUE;
        END IF;
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
      WHEN x.kind IN ('reserved', 'checkpointed', 'released', 'closed') THEN
        jsonb_build_object('kind', x.kind)
      ELSE jsonb_build_object('kind', 'refused', 'reason', x.kind)
    END ORDER BY x.position)
    FROM unnest(out_kind, out_charged, out_debt, out_left) WITH ORDINALITY
      AS x (kind, charged, debt, remaining, position));
END
$ledger$;
