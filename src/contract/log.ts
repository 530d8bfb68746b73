/** A log row is a usage or management record shown to users. 0 stands for "all" in filters. */
export const LogType = {
  all: 0,
  topUp: 1,
  consume: 2,
  manage: 3,
  system: 4,
  test: 5,
} as const
