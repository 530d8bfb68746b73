/**
 * Rows in `settings` that limit the comparison of the ledger with its sums; times are epoch
 * seconds.
 *
 * `adopted_at`: time at which an existing One API database was adopted. Log rows, redeemed codes
 * and rollups from before have no ledger rows.
 *
 * `adopted_log_id`: highest log row id at that time. Rows up to it come from One API, even if
 * they contain a later time.
 *
 * `logs_deleted_before`: older log rows and their hourly rollups have been deleted.
 */
export const ADOPTED_AT = 'adopted_at'
export const ADOPTED_LOG_ID = 'adopted_log_id'
export const LOGS_DELETED_BEFORE = 'logs_deleted_before'

/** Row in `settings`: id of the key that secrets are encrypted with; empty if they are not. */
export const SECRETS_KEY_ID = 'secrets_key_id'

/** Row in `settings`: key of the HMAC of token keys that are not stored. */
export const TOKEN_HASH_KEY = 'token_hash_key'
