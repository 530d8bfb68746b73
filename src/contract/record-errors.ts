import type { ErrorSpec } from './error-spec.ts'

/** Errors about tokens, redemption codes, logs, options and releases in the management API. */
export const recordErrors = {
  // Tokens
  token_name_too_long: {
    status: 400,
    zh: '令牌名称最多 {max} 个字符',
    en: 'A token name can have at most {max} characters',
  },
  token_subnet_invalid: {
    status: 400,
    zh: '「{subnet}」不是有效的网段，例如 192.168.0.0/24',
    en: '“{subnet}” is not a valid subnet; use the form 192.168.0.0/24',
  },
  token_quota_invalid: {
    status: 400,
    zh: '令牌额度必须是 0 到 {max} 之间的整数',
    en: 'A token’s quota must be a whole number from 0 to {max}',
  },
  token_expiry_invalid: {
    status: 400,
    zh: '过期时间无效：-1 表示永不过期，否则为秒级时间戳',
    en: 'The expiry is not valid: use -1 for never, or a Unix time in seconds',
  },
  token_cannot_enable_expired: {
    status: 409,
    zh: '令牌已过期，请先修改过期时间或设为永不过期，再启用',
    en: 'The token has expired. Change its expiry first, then enable it',
  },
  token_cannot_enable_exhausted: {
    status: 409,
    zh: '令牌额度已用尽，请先增加额度或设为无限额度，再启用',
    en: 'The token has no quota left. Add quota first, then enable it',
  },
  // Redemption
  code_empty: { status: 400, zh: '请输入兑换码', en: 'Enter a redemption code' },
  code_invalid: {
    status: 404,
    zh: '兑换码无效',
    en: 'The redemption code is not valid',
  },
  // Distinct from `code_invalid`: a buyer needs to know, and a code cannot be guessed.
  code_used: {
    status: 409,
    zh: '该兑换码已被使用或禁用',
    en: 'The redemption code has been used or disabled',
  },
  too_many_codes: {
    status: 429,
    zh: '无效的兑换码过多，请 {minutes} 分钟后再试',
    en: 'Too many invalid redemption codes. Try again in {minutes} min',
  },
  redemption_name_invalid: {
    status: 400,
    zh: '兑换码名称需要 1 至 {max} 个字符',
    en: 'The name of a redemption code must have 1 to {max} characters',
  },
  redemption_count_invalid: {
    status: 400,
    zh: '一次可以生成 1 至 {max} 个兑换码',
    en: 'Between 1 and {max} codes can be created at a time',
  },
  redemption_quota_invalid: {
    status: 400,
    zh: '兑换码的额度需要在 0 到 {max} 之间',
    en: 'The quota of a redemption code must be between 0 and {max}',
  },
  redemption_status_invalid: {
    status: 400,
    zh: '兑换码只能启用（1）或禁用（2）',
    en: 'A redemption code can only be enabled (1) or disabled (2)',
  },
  redemption_used: {
    status: 409,
    zh: '该兑换码已被使用，不能再启用、禁用或修改额度',
    en: 'The redemption code has been used: its status and quota can no longer be changed',
  },
  // Logs
  log_target_missing: {
    status: 400,
    zh: '请指定要清理到的时间点',
    en: 'Enter the time before which logs are to be deleted',
  },
  log_cleanup_running: {
    status: 409,
    zh: '日志清理正在进行，请等待其完成',
    en: 'Logs are already being deleted. Wait until that is done',
  },
  log_time_zone_unknown: {
    status: 400,
    zh: '没有名为「{zone}」的时区，例如 Asia/Shanghai',
    en: 'Unknown time zone “{zone}”; use a name such as Asia/Shanghai',
  },
  log_export_running: {
    status: 429,
    zh: '您有一个导出正在进行，请等待其完成或取消后再试',
    en: 'You already have an export running. Wait for it to end, or cancel it, and try again',
  },
  log_export_busy: {
    status: 503,
    retryAfter: 10,
    zh: '正在进行的导出过多，请稍后再试',
    en: 'Too many exports are running. Try again shortly',
  },
  dashboard_range_invalid: {
    status: 400,
    zh: '时间范围无效：结束需要晚于开始，最长 {days} 天',
    en: 'The range is not valid: the end must be after the start, and the range can have at most {days} days',
  },
  // Options
  option_unknown: { status: 404, zh: '没有名为 {key} 的设置', en: 'Unknown setting {key}' },
  option_invalid: {
    status: 400,
    zh: '「{titleZh}」（{key}）的值无效：{problemZh}',
    en: 'The value for “{titleEn}” ({key}) is not valid: {problemEn}',
  },
  option_needs: {
    status: 409,
    zh: '打开「{titleZh}」（{key}）前，请先填写{missingZh}',
    en: 'Before turning on “{titleEn}” ({key}), fill in {missingEn}',
  },
  option_in_use: {
    status: 409,
    zh: '「{userZh}」已打开，需要用到「{titleZh}」（{key}），请先将其关闭再清空',
    en: '“{userEn}” is on and needs “{titleEn}” ({key}); turn it off before emptying this',
  },
  published_prices_failed: {
    status: 502,
    zh: '获取公开价格失败：{problemZh}',
    en: 'Fetching the published prices failed: {problemEn}',
  },
  model_data_failed: {
    status: 502,
    zh: '获取模型数据失败：{problemZh}',
    en: 'Fetching the model data failed: {problemEn}',
  },
  // Releases
  release_unset: {
    status: 404,
    zh: '没有设置检查更新的仓库，请用 RELEASE_REPOSITORY 指定，例如 owner/name',
    en: 'No repository is set for the update check; set RELEASE_REPOSITORY, for example to owner/name',
  },
  release_failed: {
    status: 502,
    zh: '检查更新失败：{problemZh}',
    en: 'The update check failed: {problemEn}',
  },
} as const satisfies Record<string, ErrorSpec>
