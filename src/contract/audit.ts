/**
 * Actions that the audit records, as `noun.verb`. The noun is the kind of target.
 * Filters accept either the whole action or the noun alone.
 */
export const AUDIT_ACTIONS = [
  'user.create',
  'user.update',
  'user.promote',
  'user.demote',
  'user.disable',
  'user.enable',
  'user.delete',
  'user.top_up',
  'user.second_factor',
  'user.end_sessions',
  'access_token.create',
  'access_token.revoke',
  'token.limit',
  'redemption.create',
  'redemption.update',
  'redemption.delete',
  'channel.create',
  'channel.update',
  'channel.delete',
  'option.update',
  'model.refresh',
  'log.delete',
  'log.read_body',
  'log.search_body',
  'log.export',
  'audit.export',
  'usage.export',
  'sign_in.fail',
  'call.refuse',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/** Replaces a secret that is set; an empty secret is stored as empty. */
export const AUDIT_SECRET = '••••••'
