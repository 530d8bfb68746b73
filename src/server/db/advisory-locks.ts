/**
 * Numbers of PostgreSQL's advisory locks. All code on a database shares these numbers, so each
 * purpose has its own; a number is the same in every process.
 */
export const AdvisoryLock = {
  migration: 7_235_501,
  /** `0036-channel-sums.postgres.sql` contains this number too. */
  channelSums: 7_235_502,
  /** The first of two numbers; the second is a hash of the address. */
  email: 7_235_503,
  logConversion: 7_235_504,
  administration: 7_235_505,
} as const
