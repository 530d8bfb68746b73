/** Dimensions of the dashboard's figures. Channel and user are for administrators only. */
export const DASHBOARD_DIMENSIONS = ['model', 'token', 'channel', 'user'] as const
export type DashboardDimension = (typeof DASHBOARD_DIMENSIONS)[number]

export const DASHBOARD_UNITS = ['day', 'hour'] as const
export type DashboardUnit = (typeof DASHBOARD_UNITS)[number]

/** Maximum range of the dashboard, in days. */
export const DASHBOARD_DAYS_MAX = 93

/** Columns of the usage export for all users, by their wire names. */
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

/** Maximum range of the usage export, in days: a year. */
export const USAGE_FILE_DAYS_MAX = 366
