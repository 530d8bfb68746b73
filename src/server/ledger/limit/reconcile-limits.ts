import { sql } from 'kysely'
import type { Check } from '../reconcile-balances.ts'

/**
 * Checks the counters of limits. L1: the running calls and their reserved amounts equal the sum of
 * their rows. L2: each of those rows belongs to an open call.
 */
export function limitChecks(): Check[] {
  return [limitCheck(), holdCheck()]
}

const limitCheck = (): Check => ({
  subject: 'limits of',
  figures: { running: 'L1', tokens: 'L1', quota: 'L1' },
  rows: sql`
    SELECT limits.subject || ' ' || CAST(limits.id AS text) AS subject,
      coalesce(held.calls, 0) AS running_should, limits.running AS running_is,
      coalesce(held.tokens, 0) AS tokens_should, limits.held_tokens AS tokens_is,
      coalesce(held.quota, 0) AS quota_should, limits.held_quota AS quota_is
    FROM limits
    LEFT JOIN (
      SELECT 'user' AS subject, user_id AS id, count(*) AS calls, sum(tokens) AS tokens,
        sum(quota) AS quota
      FROM limit_holds WHERE user_id <> 0 GROUP BY user_id
      UNION ALL
      SELECT 'token', token_id, count(*), sum(tokens), sum(quota)
      FROM limit_holds WHERE token_id <> 0 GROUP BY token_id
    ) AS held ON held.subject = limits.subject AND held.id = limits.id`,
})

const holdCheck = (): Check => ({
  subject: 'hold of',
  figures: { open: 'L2' },
  rows: sql`
    SELECT limit_holds.request_id AS subject, 1 AS open_should,
      CASE WHEN reservations.request_id IS NULL THEN 0 ELSE 1 END AS open_is
    FROM limit_holds
    LEFT JOIN reservations ON reservations.request_id = limit_holds.request_id`,
})
