-- An operation of a batch: its members and those of its settlement side by side, `checkpoint` the
-- text to keep.
CREATE TYPE gatehouse_operation AS (
  kind text,
  "requestId" text,
  "userId" bigint,
  "tokenId" bigint,
  amount bigint,
  cost bigint,
  tokens bigint,
  "nowSeconds" bigint,
  node text,
  checkpoint text,
  "channelId" bigint,
  "promptTokens" bigint,
  "completionTokens" bigint,
  username text,
  "tokenName" text,
  "modelName" text,
  detail text,
  content text,
  "elapsedMs" bigint,
  "isStream" boolean,
  "systemPromptReset" boolean,
  "keepLog" boolean
);

-- A settled call: what was asked, and what it came to.
CREATE TYPE gatehouse_settled AS (
  op gatehouse_operation,
  user_id bigint,
  token_id bigint,
  charged bigint,
  taken bigint,
  debt bigint,
  token_debt bigint
);

-- The ledger's batches on PostgreSQL: one call is one transaction. The same algorithm as
-- sqlite-batch.ts; whoever changes one changes both. This text replaces earlier ones.
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
-- Locks are taken in one order everywhere (reservations, users, tokens, channels, rollups; by key
-- inside each), so that processes wait for one another and never in a circle. Channels and their
-- rollup, which everybody writes, come last, just before the commit.
--
-- `operations` is an array of `gatehouse_operation` as objects. They have been checked before
-- (operationFault). The answer is an array of results in the order of the operations.
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
  ops gatehouse_operation[];
  op_id text[];
  op_user bigint[];
  op_token bigint[];
  op_channel bigint[];
  any_settle boolean;
  op gatehouse_operation;
  -- What came of each, as JSON texts.
  results text[] := '{}';
  result text;
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
  -- Rows to be written.
  held reservations;
  closed text[] := '{}';
  opened reservations[] := '{}';
  changed reservations[] := '{}';
  settled gatehouse_settled[] := '{}';
  -- Positions in the arrays above, and figures of the operation under way.
  h integer;
  u integer;
  t integer;
  amount bigint;
  charged bigint;
  taken bigint;
  more bigint;
  is_settled boolean;
  limits jsonb;
BEGIN
  SELECT array_agg(x), array_agg(x."requestId"), array_agg(x."userId"), array_agg(x."tokenId"),
    array_agg(x."channelId"), bool_or(x.kind = 'settle')
  INTO ops, op_id, op_user, op_token, op_channel, any_settle
  FROM jsonb_populate_recordset(NULL::gatehouse_operation, operations) x;
  IF ops IS NULL THEN
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
  IF any_settle THEN
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

  FOREACH op IN ARRAY ops LOOP
    h := array_position(held_id, op."requestId");

    IF op.kind = 'reserve' THEN
      amount := op.amount;
      IF h IS NOT NULL AND held_open[h] THEN
        results := results || CASE WHEN held_node[h] = op.node THEN '{"kind":"reserved"}'
          ELSE '{"kind":"invalid","message":"another process holds this name"}' END;
        CONTINUE;
      END IF;
      u := array_position(user_key, op."userId");
      IF u IS NULL OR NOT user_enabled[u] THEN
        results := results || '{"kind":"refused","reason":"user_unavailable"}'::text;
        CONTINUE;
      END IF;
      t := array_position(token_key, op."tokenId");
      IF t IS NULL OR NOT token_enabled[t]
        OR (token_expires[t] <> -1 AND token_expires[t] < op."nowSeconds")
      THEN
        results := results || '{"kind":"refused","reason":"token_unavailable"}'::text;
        CONTINUE;
      END IF;
      IF user_quota[u] < amount THEN
        results := results || '{"kind":"refused","reason":"user_quota"}'::text;
        CONTINUE;
      END IF;
      IF NOT token_unlimited[t] AND token_remain[t] < amount THEN
        results := results || '{"kind":"refused","reason":"token_quota"}'::text;
        CONTINUE;
      END IF;
      result := '{"kind":"reserved"}';
      IF user_limited[u] OR token_limited[t] THEN
        limits := gatehouse_limits_take(op."requestId",
          CASE WHEN user_limited[u] THEN user_key[u] ELSE 0 END,
          CASE WHEN token_limited[t] THEN token_key[t] ELSE 0 END,
          coalesce(op.tokens, 0), amount, op."nowSeconds");
        IF NOT (limits -> 'fits')::boolean THEN
          results := results ||
            jsonb_build_object('kind', 'limited', 'facts', limits -> 'facts')::text;
          CONTINUE;
        END IF;
        result := jsonb_build_object('kind', 'reserved', 'facts', limits -> 'facts');
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
        held_id[h] := op."requestId";
        held_found[h] := false;
      END IF;
      held_user[h] := op."userId";
      held_token[h] := op."tokenId";
      held_amount[h] := amount;
      held_token_amount[h] := taken;
      held_since[h] := op."nowSeconds";
      held_node[h] := op.node;
      held_checkpoint[h] := '';
      held_open[h] := true;
      held_changed[h] := true;
      results := results || result;
      CONTINUE;
    END IF;

    IF h IS NULL OR NOT held_open[h] THEN
      results := results || '{"kind":"closed"}'::text;
      CONTINUE;
    END IF;
    u := array_position(user_key, held_user[h]);
    t := array_position(token_key, held_token[h]);
    amount := op.cost;

    IF op.kind = 'checkpoint' THEN
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
        PERFORM gatehouse_limits_grow(
          op."requestId", op."promptTokens" + op."completionTokens", amount);
      END IF;
      held_checkpoint[h] := op.checkpoint;
      held_changed[h] := true;
      results := results || '{"kind":"checkpointed"}'::text;
      CONTINUE;
    END IF;

    held_open[h] := false;
    charged := 0;
    taken := 0;
    is_settled := false;
    IF op.kind = 'release' THEN
      result := '{"kind":"released"}';
    ELSIF op."requestId" = ANY (billed) THEN
      -- Billed before under the same name: this reservation was one too many and goes back.
      result := '{"kind":"closed"}';
    ELSE
      is_settled := true;
      -- The reservation goes back first, then the cost is taken, down to zero and not below. Of a
      -- user who is gone only what was held back can be taken; a token that is gone or has become
      -- unlimited pays nothing.
      charged := least(amount, greatest(0, coalesce(user_quota[u], 0) + held_amount[h]));
      more := 0;
      IF t IS NOT NULL THEN
        IF NOT token_unlimited[t] THEN
          taken := least(charged, greatest(0, token_remain[t] + held_token_amount[h]));
          more := charged - taken;
        END IF;
        token_used[t] := token_used[t] + charged;
        token_accessed[t] := op."nowSeconds";
      END IF;
      IF u IS NOT NULL THEN
        user_used[u] := user_used[u] + charged;
        user_calls[u] := user_calls[u] + 1;
      END IF;
      settled := settled || ROW(op, held_user[h], held_token[h], charged, taken, amount - charged,
        more)::gatehouse_settled;
      result := '{"kind":"settled","charged":' || charged || ',"debt":' || amount - charged
        || ',"userQuota":' || coalesce(user_quota[u] + held_amount[h] - charged, 0) || '}';
      billed := billed || op."requestId";
    END IF;
    IF coalesce(user_limited[u], true) OR coalesce(token_limited[t], true) THEN
      PERFORM gatehouse_limits_close(op."requestId", op."promptTokens" + op."completionTokens",
        charged, CASE WHEN is_settled THEN op."nowSeconds" END);
    END IF;
    IF u IS NOT NULL THEN
      user_quota[u] := user_quota[u] + held_amount[h] - charged;
      user_touched[u] := true;
    END IF;
    IF t IS NOT NULL THEN
      token_remain[t] := token_remain[t] + held_token_amount[h] - taken;
      token_touched[t] := true;
    END IF;
    results := results || result;
  END LOOP;

  FOR i IN 1 .. coalesce(cardinality(held_id), 0) LOOP
    IF held_open[i] THEN
      held := ROW(held_id[i], held_user[i], held_token[i], held_amount[i], held_token_amount[i],
        held_since[i], held_node[i], held_checkpoint[i])::reservations;
      IF NOT held_found[i] THEN
        opened := opened || held;
      ELSIF held_changed[i] THEN
        changed := changed || held;
      END IF;
    ELSIF held_found[i] THEN
      closed := closed || held_id[i];
    END IF;
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
    SET user_id = x.user_id, token_id = x.token_id, user_amount = x.user_amount,
      token_amount = x.token_amount, created_at = x.created_at, node = x.node,
      checkpoint = x.checkpoint
    FROM unnest(changed) x
    WHERE r.request_id = x.request_id;
  END IF;

  UPDATE users r SET quota = x.quota, used_quota = x.used, request_count = x.calls
  FROM unnest(user_key, user_quota, user_used, user_calls, user_touched)
    AS x (id, quota, used, calls, touched)
  WHERE r.id = x.id AND x.touched;
  UPDATE tokens r SET remain_quota = x.remain, used_quota = x.used, accessed_time = x.accessed
  FROM unnest(token_key, token_remain, token_used, token_accessed, token_touched)
    AS x (id, remain, used, accessed, touched)
  WHERE r.id = x.id AND x.touched;

  IF cardinality(settled) > 0 THEN
    INSERT INTO ledger (created_at, kind, user_id, token_id, channel_id, user_amount, token_amount,
      debt, token_debt, prompt_tokens, completion_tokens, request_id, detail)
    SELECT (x.op)."nowSeconds", 'consume', x.user_id, x.token_id, (x.op)."channelId", -x.charged,
      -x.taken, x.debt, x.token_debt, (x.op)."promptTokens", (x.op)."completionTokens",
      (x.op)."requestId", (x.op).detail
    FROM unnest(settled) x;

    INSERT INTO logs (user_id, created_at, type, content, username, token_name, model_name, quota,
      prompt_tokens, completion_tokens, channel_id, request_id, elapsed_time, is_stream,
      system_prompt_reset)
    SELECT x.user_id, (x.op)."nowSeconds", 2, (x.op).content, (x.op).username,
      (x.op)."tokenName", (x.op)."modelName", x.charged, (x.op)."promptTokens",
      (x.op)."completionTokens", (x.op)."channelId", (x.op)."requestId", (x.op)."elapsedMs",
      (x.op)."isStream", (x.op)."systemPromptReset"
    FROM unnest(settled) x
    WHERE (x.op)."keepLog";

    INSERT INTO usage_hourly AS r (user_id, hour, model_name, token_name, username, requests,
      quota, prompt_tokens, completion_tokens)
    SELECT x.user_id, (x.op)."nowSeconds" - (x.op)."nowSeconds" % 3600, (x.op)."modelName",
      (x.op)."tokenName", (x.op).username, count(*), sum(x.charged), sum((x.op)."promptTokens"),
      sum((x.op)."completionTokens")
    FROM unnest(settled) x
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (user_id, hour, model_name, token_name, username) DO UPDATE SET
      requests = r.requests + excluded.requests, quota = r.quota + excluded.quota,
      prompt_tokens = r.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = r.completion_tokens + excluded.completion_tokens;

    INSERT INTO usage_daily AS r (user_id, day, model_name, requests, quota, prompt_tokens,
      completion_tokens)
    SELECT x.user_id, (x.op)."nowSeconds" - (x.op)."nowSeconds" % 86400, (x.op)."modelName",
      count(*), sum(x.charged), sum((x.op)."promptTokens"), sum((x.op)."completionTokens")
    FROM unnest(settled) x
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (user_id, day, model_name) DO UPDATE SET
      requests = r.requests + excluded.requests, quota = r.quota + excluded.quota,
      prompt_tokens = r.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = r.completion_tokens + excluded.completion_tokens;

    PERFORM 1 FROM channels WHERE id = ANY (op_channel) ORDER BY id FOR NO KEY UPDATE;
    UPDATE channels r SET used_quota = coalesce(r.used_quota, 0) + x.charged
    FROM (
      SELECT (y.op)."channelId" AS channel, sum(y.charged)::bigint AS charged
      FROM unnest(settled) y GROUP BY 1
    ) x
    WHERE r.id = x.channel;

    INSERT INTO channel_usage_hourly AS r (hour, channel_id, model_name, requests, quota,
      prompt_tokens, completion_tokens)
    SELECT (x.op)."nowSeconds" - (x.op)."nowSeconds" % 3600, (x.op)."channelId",
      (x.op)."modelName", count(*), sum(x.charged), sum((x.op)."promptTokens"),
      sum((x.op)."completionTokens")
    FROM unnest(settled) x
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (hour, channel_id, model_name) DO UPDATE SET
      requests = r.requests + excluded.requests, quota = r.quota + excluded.quota,
      prompt_tokens = r.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = r.completion_tokens + excluded.completion_tokens;
  END IF;

  RETURN '[' || array_to_string(results, ',') || ']';
END
$ledger$;
