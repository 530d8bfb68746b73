/** What a dashboard's figures are broken down by. Channels and users: administrators only. */
export const DASHBOARD_DIMENSIONS = ['model', 'token', 'channel', 'user'] as const
export type DashboardDimension = (typeof DASHBOARD_DIMENSIONS)[number]

export const DASHBOARD_UNITS = ['day', 'hour'] as const
export type DashboardUnit = (typeof DASHBOARD_UNITS)[number]

/** Longest range of a dashboard. */
export const DASHBOARD_DAYS_MAX = 93
