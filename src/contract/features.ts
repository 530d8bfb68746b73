/**
 * Features beyond One API that a server supports, announced by `GET /api/status`. Servers of other
 * versions may announce more or fewer.
 */
export const FEATURES = [
  'prices',
  'published-prices',
  'model-capabilities',
  'log-detail',
  'log-export',
  'log-bodies',
  'log-cleanup',
  'dashboard',
  'usage-export',
  'token-capture',
  'token-groups',
  'token-rotation',
  'channel-keys',
  'channel-routes',
  'channel-batch',
  'channel-filters',
  'limits',
  'second-factor',
  'sign-in-providers',
  'sessions',
  'user-sessions',
  'passkeys',
  'access-tokens',
  'audit-export',
] as const

export type Feature = (typeof FEATURES)[number]
