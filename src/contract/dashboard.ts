/** What a dashboard's figures are broken down by. Channels and users: administrators only. */
export const DASHBOARD_DIMENSIONS = ['model', 'token', 'channel', 'user'] as const
export type DashboardDimension = (typeof DASHBOARD_DIMENSIONS)[number]

export const DASHBOARD_UNITS = ['day', 'hour'] as const
export type DashboardUnit = (typeof DASHBOARD_UNITS)[number]

/** Longest range of a dashboard. */
export const DASHBOARD_DAYS_MAX = 93

/** Columns of the file of what everybody has used, as the wire names them. */
export const USAGE_FILE_COLUMNS = [
  'user_id',
  'username',
  'model_name',
  'requests',
  'prompt_tokens',
  'completion_tokens',
  'quota',
  'cost_usd',
] as const
export type UsageFileColumn = (typeof USAGE_FILE_COLUMNS)[number]

/** Longest range of that file: a year. */
export const USAGE_FILE_DAYS_MAX = 366
