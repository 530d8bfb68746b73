/**
 * Facts in `settings` that bound what can be compared; times are epoch seconds.
 *
 * `adopted_at`: when the books were opened over an existing One API database. Log rows, redeemed
 * codes and rollups from before then have no ledger rows.
 *
 * `adopted_log_id`: the highest id among the log rows of then. Rows up to it are One API's,
 * whatever time they claim.
 *
 * `logs_deleted_before`: log rows older than this are gone, and with them the hourly rollups.
 */
export const ADOPTED_AT = 'adopted_at'
export const ADOPTED_LOG_ID = 'adopted_log_id'
export const LOGS_DELETED_BEFORE = 'logs_deleted_before'
