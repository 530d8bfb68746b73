/**
 * Every refusal has a name, and its sentence stands here once in both languages.
 *
 * `status` is what the relay (and the few management calls with true statuses) answers; the
 * management API answers other refusals with 200 and `success: false`, as its clients expect.
 */
export type Language = 'zh' | 'en'

export interface ErrorSpec {
  /** HTTP status on the relay. */
  status: number
  /** The management API answers with `status` too instead of 200. */
  real?: true
  /** Relay member `error.code`, where clients know another word than the name here. */
  code?: string
  zh: string
  en: string
}

/**
 * Sentences may hold `{name}` places, filled from the error's parameters.
 */
export const errors = {
  // Who is calling
  not_signed_in: {
    status: 401,
    real: true,
    zh: '未登录或登录已过期，请重新登录',
    en: 'You are not signed in, or your session has expired. Please sign in again',
  },
  access_token_invalid: {
    status: 401,
    zh: '系统访问令牌无效，请在个人设置中重新生成',
    en: 'The system access token is not valid. Generate a new one in your settings',
  },
  user_disabled: {
    status: 403,
    zh: '该用户已被停用，请联系管理员',
    en: 'This user is disabled. Please contact an administrator',
  },
  role_too_low: {
    status: 403,
    zh: '权限不足，无法进行此操作',
    en: 'Your role does not allow this',
  },
  password_change_required: {
    status: 403,
    zh: '请先修改默认密码，再进行其他操作',
    en: 'Change the default password first',
  },
  cross_site: {
    status: 403,
    real: true,
    zh: '请求来自其他网站，已被拒绝',
    en: 'The request came from another site and was refused',
  },
  // How it is said
  invalid_parameter: { status: 400, zh: '无效的参数', en: 'Invalid parameter' },
  invalid_field: {
    status: 400,
    zh: '参数 {field} 无效：{problemZh}',
    en: 'Invalid value for {field}: {problemEn}',
  },
  text_unreadable: {
    status: 400,
    zh: '{field} 含有不可见的控制字符，请删除后重试',
    en: '{field} holds invisible control characters; remove them and try again',
  },
  body_not_json: {
    status: 400,
    zh: '请求体不是有效的 JSON 对象',
    en: 'The request body is not a valid JSON object',
  },
  body_empty: {
    status: 400,
    zh: '缺少请求体，需要 JSON 对象',
    en: 'The request body is missing; it is a JSON object',
  },
  option_undecodable: {
    status: 400,
    real: true,
    zh: '无效的参数：需要 {"key": "…", "value": "…"}，两者都是字符串',
    en: 'Invalid parameter: expected {"key": "…", "value": "…"}, both strings',
  },
  body_too_large: {
    status: 413,
    real: true,
    code: 'request_too_large',
    zh: '请求体超过 {limit} MB 的上限',
    en: 'The request body is larger than the limit of {limit} MB',
  },
  not_found: { status: 404, zh: '没有找到该记录', en: 'No such record' },
  internal: {
    status: 500,
    real: true,
    code: 'internal_error',
    zh: '服务器内部错误，请联系管理员',
    en: 'Internal server error, please contact the administrator',
  },
  busy: {
    status: 503,
    real: true,
    code: 'overloaded',
    zh: '服务器繁忙或正在停止，请稍后再试',
    en: 'The server is busy or shutting down. Please try again shortly',
  },
  // Signing in, users
  password_login_closed: {
    status: 403,
    zh: '管理员关闭了密码登录',
    en: 'Password sign-in is turned off',
  },
  wrong_credentials: {
    status: 401,
    zh: '用户名或密码错误，或该用户已被停用',
    en: 'Wrong username or password, or the user is disabled',
  },
  too_many_attempts: {
    status: 429,
    zh: '该账户登录失败次数过多，请 {minutes} 分钟后再试',
    en: 'Too many failed sign-ins for this account. Try again in {minutes} minutes',
  },
  old_password_wrong: {
    status: 403,
    zh: '原密码错误',
    en: 'The current password is wrong',
  },
  password_is_default: {
    status: 400,
    zh: '新密码不能是默认密码',
    en: 'The new password must differ from the default one',
  },
  username_too_long: {
    status: 400,
    zh: '用户名最多 {max} 个字符',
    en: 'A username has at most {max} characters',
  },
  username_taken: {
    status: 409,
    zh: '用户名「{name}」已被使用',
    en: 'The username “{name}” is taken',
  },
  display_name_too_long: {
    status: 400,
    zh: '显示名称最多 {max} 个字符',
    en: 'A display name has at most {max} characters',
  },
  email_invalid: {
    status: 400,
    zh: '邮箱地址无效，例如 name@example.com，最多 {max} 个字符',
    en: 'The e-mail address is not valid; write it like name@example.com, at most {max} characters',
  },
  password_too_short: {
    status: 400,
    zh: '密码至少 {min} 个字符',
    en: 'A password has at least {min} characters',
  },
  password_too_long: {
    status: 400,
    zh: '密码最多 {max} 个字节',
    en: 'A password has at most {max} bytes',
  },
  user_not_found: { status: 404, zh: '用户不存在', en: 'No such user' },
  cannot_create_peer: {
    status: 403,
    zh: '不能创建权限不低于自己的用户',
    en: 'You cannot create a user whose role is not below yours',
  },
  cannot_see_peer: {
    status: 403,
    zh: '不能查看权限不低于自己的用户',
    en: 'You cannot view a user whose role is not below yours',
  },
  cannot_change_peer: {
    status: 403,
    zh: '不能修改权限不低于自己的用户',
    en: 'You cannot change a user whose role is not below yours',
  },
  cannot_raise_to_peer: {
    status: 403,
    zh: '不能把用户提升到不低于自己的权限',
    en: 'You cannot raise a user to a role that is not below yours',
  },
  cannot_disable_root: {
    status: 403,
    zh: '不能停用超级管理员',
    en: 'The super administrator cannot be disabled',
  },
  cannot_delete_root: {
    status: 403,
    zh: '不能删除超级管理员',
    en: 'The super administrator cannot be deleted',
  },
  cannot_demote_root: {
    status: 403,
    zh: '不能降级超级管理员',
    en: 'The super administrator cannot be demoted',
  },
  only_root_promotes: {
    status: 403,
    zh: '只有超级管理员可以把用户提升为管理员',
    en: 'Only the super administrator can promote users',
  },
  already_admin: {
    status: 409,
    zh: '该用户已经是管理员',
    en: 'The user already is an administrator',
  },
  already_user: {
    status: 409,
    zh: '该用户已经是普通用户',
    en: 'The user already is an ordinary user',
  },
  role_unknown: {
    status: 400,
    zh: '没有这样的角色：{role}',
    en: 'There is no role {role}',
  },
  user_group_invalid: {
    status: 400,
    zh: '分组最多 {count} 个，每个名称最多 {max} 个字符',
    en: 'A user has at most {count} groups, each name at most {max} characters',
  },
  balance_too_large: {
    status: 400,
    zh: '余额将超过上限 {max}',
    en: 'The balance would exceed its limit of {max}',
  },
  quota_negative: { status: 400, zh: '额度不能为负数', en: 'Quota cannot be negative' },
  // Signing in through others
  oauth_state_invalid: {
    status: 403,
    real: true,
    zh: '登录请求已失效或来自其他窗口，请重新发起',
    en: 'The sign-in request has expired or belongs to another window. Please start again',
  },
  external_closed: {
    status: 403,
    zh: '管理员未开启通过{provider}登录',
    en: 'Signing in with {provider} is turned off',
  },
  external_denied: {
    status: 403,
    zh: '{provider}没有授权本次登录',
    en: '{provider} did not approve this sign-in',
  },
  external_unreachable: {
    status: 502,
    zh: '无法连接至{provider}服务器，请稍后重试',
    en: '{provider} cannot be reached, please try again later',
  },
  external_refused: {
    status: 401,
    zh: '{provider}不接受本次登录，请重新发起；若一直如此，请联系管理员',
    en: '{provider} did not accept this sign-in. Start again, and tell an administrator if it persists',
  },
  external_answer_invalid: {
    status: 502,
    zh: '{provider}返回的信息无法确认身份，请稍后重试',
    en: 'The answer of {provider} does not tell who you are. Please try again later',
  },
  external_taken: {
    status: 409,
    zh: '该{provider}账户已被绑定',
    en: 'This {provider} account is bound to another user',
  },
  external_root: {
    status: 403,
    zh: '超级管理员只能用密码登录，不能通过第三方账户登录或绑定',
    en: 'The super administrator signs in with the password only, never through another account',
  },
  external_only_way_in: {
    status: 409,
    zh: '这是唯一的登录方式，请先设置密码或绑定其他账户',
    en: 'This is your only way to sign in. Set a password or bind another account first',
  },
  register_closed: {
    status: 403,
    zh: '管理员关闭了新用户注册',
    en: 'Registration is closed',
  },
  wechat_code_invalid: {
    status: 401,
    zh: '验证码错误或已过期',
    en: 'The code is wrong or has expired',
  },
  wechat_code_attempts: {
    status: 429,
    zh: '验证码尝试次数过多，请稍后再试',
    en: 'Too many wrong codes. Please try again later',
  },
  // Accounts and mail
  username_invalid: {
    status: 400,
    zh: '用户名不能以空格开头或结尾，也不能包含不可见字符',
    en: 'A username neither begins nor ends with a space and holds no invisible characters',
  },
  password_register_closed: {
    status: 403,
    zh: '管理员关闭了密码注册，请使用第三方账户注册',
    en: 'Registering with a password is turned off. Please use another account to register',
  },
  email_code_needed: {
    status: 400,
    zh: '请输入邮箱地址和验证码',
    en: 'Please enter your e-mail address and the code mailed to it',
  },
  email_code_wrong: {
    status: 403,
    zh: '验证码错误或已过期',
    en: 'The code is wrong or has expired',
  },
  email_domain_not_allowed: {
    status: 403,
    zh: '不接受该域名的邮箱，可用的域名：{domains}',
    en: 'Addresses of this domain are not accepted; these are: {domains}',
  },
  email_taken: {
    status: 409,
    zh: '该邮箱地址已被其他账户使用',
    en: 'Another account has this e-mail address',
  },
  reset_link_invalid: {
    status: 403,
    zh: '重置链接无效或已过期，请重新申请',
    en: 'The reset link is not valid or has expired. Please request another',
  },
  too_many_mails: {
    status: 429,
    zh: '发往该地址的邮件过多，请 {minutes} 分钟后再试',
    en: 'Too many mails to this address. Try again in {minutes} minutes',
  },
  human_check_needed: {
    status: 403,
    zh: '请先完成人机验证',
    en: 'Please complete the human check first',
  },
  human_check_failed: {
    status: 403,
    zh: '人机验证没有通过，请刷新页面重试',
    en: 'The human check did not pass. Reload the page and try again',
  },
  human_check_unreachable: {
    status: 502,
    zh: '暂时无法进行人机验证，请稍后再试',
    en: 'The human check cannot be reached. Please try again later',
  },
  mail_unset: {
    status: 409,
    zh: '管理员没有设置邮件服务器，无法发送邮件',
    en: 'No mail server is set up, so no mail can be sent',
  },
  mail_failed: {
    status: 502,
    zh: '邮件没有发出：{problemZh}',
    en: 'The mail was not sent: {problemEn}',
  },
  root_without_email: {
    status: 409,
    zh: '超级管理员没有绑定邮箱，也没有设置消息推送',
    en: 'The super administrator has no e-mail address, and there is no message pusher',
  },
  push_failed: {
    status: 502,
    zh: '消息推送没有成功，请检查地址和凭证',
    en: 'The message pusher did not take the message. Check its address and credential',
  },
  // Tokens in the management API
  token_name_too_long: {
    status: 400,
    zh: '令牌名称最多 {max} 个字符',
    en: 'A token name has at most {max} characters',
  },
  token_subnet_invalid: {
    status: 400,
    zh: '「{subnet}」不是有效的网段，例如 192.168.0.0/24',
    en: '“{subnet}” is not a valid subnet; write it like 192.168.0.0/24',
  },
  token_quota_invalid: {
    status: 400,
    zh: '令牌额度必须是 0 到 {max} 之间的整数',
    en: 'A token quota is a whole number from 0 to {max}',
  },
  token_expiry_invalid: {
    status: 400,
    zh: '过期时间无效：-1 表示永不过期，否则为秒级时间戳',
    en: 'The expiry is not valid: -1 means never, otherwise give a time in seconds',
  },
  token_status_invalid: {
    status: 400,
    zh: '令牌状态只能设为启用（1）或禁用（2）',
    en: 'A token can only be set to enabled (1) or disabled (2)',
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
  // Logs
  log_target_missing: {
    status: 400,
    zh: '请指定要清理到的时间点',
    en: 'Say up to which time the logs are to be deleted',
  },
  log_cleanup_running: {
    status: 409,
    zh: '日志清理正在进行，请等待其完成',
    en: 'The logs are being deleted already. Please wait until that is done',
  },
  log_time_zone_unknown: {
    status: 400,
    zh: '没有名为「{zone}」的时区，例如 Asia/Shanghai',
    en: 'There is no time zone “{zone}”; write it like Asia/Shanghai',
  },
  log_export_running: {
    status: 429,
    zh: '您有一个导出正在进行，请等待其完成或取消后再试',
    en: 'You have an export under way. Wait for it to end, or cancel it, and try again',
  },
  log_export_busy: {
    status: 503,
    zh: '正在进行的导出过多，请稍后再试',
    en: 'Too many exports are under way. Please try again shortly',
  },
  dashboard_range_invalid: {
    status: 400,
    zh: '时间范围无效：结束需要晚于开始，最长 {days} 天',
    en: 'The range is not valid: it ends after it begins and has at most {days} days',
  },
  // Redemption
  code_empty: { status: 400, zh: '请输入兑换码', en: 'Please enter a redemption code' },
  // One sentence for all of them: who guesses must not learn which codes exist.
  code_invalid: {
    status: 404,
    zh: '兑换码无效，或已被使用',
    en: 'The redemption code is not valid, or has been used',
  },
  too_many_codes: {
    status: 429,
    zh: '无效的兑换码过多，请 {minutes} 分钟后再试',
    en: 'Too many wrong redemption codes. Try again in {minutes} minutes',
  },
  redemption_name_invalid: {
    status: 400,
    zh: '兑换码名称需要 1 至 {max} 个字符',
    en: 'The name of a redemption code needs 1 to {max} characters',
  },
  redemption_count_invalid: {
    status: 400,
    zh: '一次可以生成 1 至 {max} 个兑换码',
    en: 'Between 1 and {max} codes can be made at a time',
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
    en: 'The redemption code has been used: its status and quota can no longer change',
  },
  // Channels in the management API
  channel_key_missing: {
    status: 400,
    zh: '请填写渠道密钥',
    en: 'Please enter the key of the channel',
  },
  channel_key_needed_again: {
    status: 400,
    zh: '修改渠道的类型、地址或代理时，需要重新填写密钥',
    en: 'Changing the type, address or proxy of a channel requires its key again',
  },
  channel_base_url_invalid: {
    status: 400,
    zh: '渠道地址「{url}」无效：须以 http:// 或 https:// 开头，不能带账号、? 或 #',
    en: 'The address “{url}” is not valid: it starts with http:// or https:// and has no account, ? or #',
  },
  channel_mapping_invalid: {
    status: 400,
    zh: '模型重定向必须是 JSON 对象，值为字符串，例如 {"a": "b"}',
    en: 'The model mapping must be a JSON object of strings, such as {"a": "b"}',
  },
  channel_proxy_invalid: {
    status: 400,
    zh: '代理地址无效：须以 http:// 或 https:// 开头，不能有路径，也不能指向云主机元数据',
    en: 'The proxy is not valid: it starts with http:// or https://, has no path, and is no metadata service',
  },
  channel_header_override_invalid: {
    status: 400,
    zh: '请求头覆盖必须是 JSON 对象，值为字符串；「{name}」不能这样设置',
    en: 'Header overrides are a JSON object of strings; “{name}” cannot be set so',
  },
  channel_param_override_invalid: {
    status: 400,
    zh: '参数覆盖必须是 JSON 对象；「{name}」不能覆盖',
    en: 'Parameter overrides are a JSON object; “{name}” cannot be overridden',
  },
  channel_config_invalid: {
    status: 400,
    zh: '渠道配置必须是 JSON 对象',
    en: 'The channel configuration must be a JSON object',
  },
  channel_status_invalid: {
    status: 400,
    zh: '渠道状态只能是 1、2 或 3',
    en: 'A channel status is 1, 2 or 3',
  },
  channel_test_running: {
    status: 409,
    zh: '渠道测试正在进行，请稍后再试',
    en: 'A channel test is already running',
  },
  channel_test_unsupported: {
    status: 501,
    zh: '「{type}」类型的渠道暂不支持测试',
    en: 'Channels of type “{type}” cannot be tested yet',
  },
  channel_address_forbidden: {
    status: 400,
    zh: '渠道地址「{url}」不能使用：它指向云主机元数据或无法路由的地址',
    en: 'The address “{url}” cannot be used: it leads to a metadata service or to nowhere',
  },
  channel_balance_running: {
    status: 409,
    zh: '余额查询正在进行，请稍后再试',
    en: 'Balances are being updated already',
  },
  channel_balance_unsupported: {
    status: 501,
    zh: '「{type}」类型的上游不提供余额查询',
    en: 'Upstreams of type “{type}” cannot be asked for a balance',
  },
  channel_balance_unreadable: {
    status: 502,
    zh: '上游的回答里没有可识别的余额',
    en: 'The upstream’s answer holds no balance that can be read',
  },
  channel_balance_currency: {
    status: 502,
    zh: '上游的余额以 {currency} 计价，无法按人民币显示',
    en: 'The upstream counts its balance in {currency}, which cannot be shown as yuan',
  },
  channel_models_unsupported: {
    status: 501,
    zh: '「{type}」类型的渠道暂不支持从上游获取模型，请手动填写',
    en: 'The models of type “{type}” cannot be fetched from the upstream yet; enter them by hand',
  },
  channel_models_unreadable: {
    status: 502,
    zh: '上游的回答里没有可识别的模型列表',
    en: 'The upstream’s answer holds no list of models that can be read',
  },
  channel_address_missing: {
    status: 400,
    zh: '请先填写渠道地址',
    en: 'Enter the address of the channel first',
  },
  channel_upstream_said: {
    status: 502,
    zh: '上游返回状态码 {status}：{detail}',
    en: 'The upstream answered with status {status}: {detail}',
  },
  channel_test_failed: {
    status: 502,
    zh: '测试失败：{detail}',
    en: 'The test failed: {detail}',
  },
  // Options
  option_unknown: { status: 404, zh: '没有名为 {key} 的设置', en: 'There is no setting {key}' },
  option_invalid: {
    status: 400,
    zh: '「{titleZh}」（{key}）的值无效：{problemZh}',
    en: 'The value for “{titleEn}” ({key}) is not valid: {problemEn}',
  },
  option_needs: {
    status: 409,
    zh: '启用「{titleZh}」（{key}）前，请先填写 {missingZh}',
    en: 'Before turning on “{titleEn}” ({key}), fill in {missingEn}',
  },
  option_in_use: {
    status: 409,
    zh: '「{userZh}」已启用，需要用到「{titleZh}」（{key}），请先将其关闭再清空',
    en: '“{userEn}” is on and needs “{titleEn}” ({key}); turn it off before emptying this',
  },
  // Releases
  release_unset: {
    status: 404,
    zh: '没有设置检查更新的仓库，请用 RELEASE_REPOSITORY 指定，例如 owner/name',
    en: 'No repository is set for the update check; name one in RELEASE_REPOSITORY, like owner/name',
  },
  release_failed: {
    status: 502,
    zh: '检查更新失败：{problemZh}',
    en: 'The update check failed: {problemEn}',
  },
  // The relay
  token_missing: { status: 401, zh: '请求没有携带令牌', en: 'The call carries no token' },
  token_unknown: { status: 401, zh: '令牌无效', en: 'The token is not valid' },
  token_exhausted: {
    status: 401,
    zh: '令牌的额度已用尽',
    en: 'The token has no quota left',
  },
  token_expired: { status: 401, zh: '令牌已过期', en: 'The token has expired' },
  token_disabled: { status: 401, zh: '令牌已被禁用', en: 'The token is disabled' },
  token_address_not_allowed: {
    status: 403,
    zh: '令牌不能从当前网络地址使用',
    en: 'The token may not be used from this address',
  },
  token_owner_disabled: {
    status: 403,
    zh: '令牌所属的用户已被停用',
    en: 'The owner of the token is disabled',
  },
  token_model_not_allowed: {
    status: 403,
    zh: '令牌无权使用模型 {model}',
    en: 'The token may not use the model {model}',
  },
  channel_pin_not_allowed: {
    status: 403,
    zh: '只有管理员可以指定渠道',
    en: 'Only administrators can pin a channel',
  },
  channel_pin_unknown: {
    status: 400,
    zh: '指定的渠道不存在',
    en: 'The pinned channel does not exist',
  },
  channel_pin_disabled: {
    status: 403,
    zh: '指定的渠道已被禁用',
    en: 'The pinned channel is disabled',
  },
  no_channel: {
    status: 503,
    zh: '分组 {group} 下没有可用于模型 {model} 的渠道',
    en: 'No channel serves the model {model} in group {group}',
  },
  relay_body_invalid: {
    status: 400,
    zh: '请求体无法解析：{detail}（第 {offset} 字节）',
    en: 'The request body cannot be read: {detail} (byte {offset})',
  },
  relay_field_required: {
    status: 400,
    code: 'invalid_text_request',
    zh: '缺少参数 {field}',
    en: 'The field {field} is required',
  },
  relay_field_invalid: {
    status: 400,
    code: 'invalid_text_request',
    zh: '参数 {field} 无效',
    en: 'The field {field} is invalid',
  },
  relay_calls_too_many: {
    status: 429,
    zh: '调用过于频繁，请稍后再试',
    en: 'Too many calls, please try again later',
  },
  relay_model_unknown: {
    status: 404,
    code: 'model_not_found',
    zh: '没有名为 {model} 的模型',
    en: 'There is no model {model}',
  },
  relay_field_unsupported: {
    status: 400,
    code: 'unsupported_parameter',
    zh: '可用于此模型的渠道不支持参数 {field}',
    en: 'The channels that serve this model do not support the field {field}',
  },
  model_unpriced: {
    status: 403,
    code: 'model_unpriced',
    zh: '模型 {model} 没有设置价格，请联系管理员在「模型倍率」中添加',
    en: 'The model {model} has no price. Ask an administrator to add it to the model ratios',
  },
  response_unknown: {
    status: 404,
    code: 'response_not_found',
    zh: '没有编号为 {id} 的响应，或它已过期',
    en: 'There is no response {id}, or it has expired',
  },
  proxy_path_invalid: {
    status: 400,
    zh: '代理的路径无效',
    en: 'The path to be proxied is invalid',
  },
  user_quota_insufficient: {
    status: 403,
    code: 'insufficient_user_quota',
    zh: '账户余额不足',
    en: 'Your account has not enough quota',
  },
  token_quota_insufficient: {
    status: 403,
    code: 'pre_consume_token_quota_failed',
    zh: '令牌额度不足',
    en: 'The token has not enough quota',
  },
  channel_incomplete: {
    status: 503,
    zh: '「{type}」渠道的密钥、区域、账户或地址不完整，请管理员补全',
    en: 'A channel of type “{type}” lacks a usable key, region, account or address',
  },
  channel_protocol_unsupported: {
    status: 501,
    code: 'api_not_implemented',
    zh: '渠道类型「{type}」暂不支持此接口',
    en: 'Channels of type “{type}” do not support this call yet',
  },
  not_implemented: {
    status: 501,
    code: 'api_not_implemented',
    zh: '该接口尚未实现',
    en: 'This API is not implemented',
  },
  upstream_busy: {
    status: 429,
    zh: '上游繁忙，请稍后再试',
    en: 'The upstream is busy, please try again later',
  },
  upstream_unreachable: {
    status: 502,
    code: 'upstream_unreachable',
    zh: '无法连接上游',
    en: 'The upstream cannot be reached',
  },
  upstream_timeout: {
    status: 504,
    code: 'upstream_timeout',
    zh: '上游在时限内没有回应',
    en: 'The upstream did not answer in time',
  },
  upstream_answer_invalid: {
    status: 500,
    code: 'unmarshal_response_body_failed',
    zh: '上游的回应无法解析',
    en: 'The answer of the upstream cannot be read',
  },
  upstream_status: {
    status: 502,
    code: 'bad_response_status_code',
    zh: '上游返回状态码 {status}',
    en: 'The upstream answered with status {status}',
  },
  upstream_cut: {
    status: 502,
    code: 'upstream_cut',
    zh: '上游中断了回应',
    en: 'The upstream broke off its answer',
  },
} as const satisfies Record<string, ErrorSpec>

export type ErrorCode = keyof typeof errors
export type ErrorParams = Readonly<Record<string, string | number>>

/** A refusal as data: its name and what fills its sentence. */
export interface Refusal {
  code: ErrorCode
  params?: ErrorParams
}

/** The sentence of a code in a language, with its places filled. */
export function errorText(code: ErrorCode, language: Language, params: ErrorParams = {}): string {
  return errors[code][language].replace(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(params, name) ? String(params[name]) : whole,
  )
}

/** Chinese unless the caller names another language first. */
export function languageOf(acceptLanguage: string | undefined): Language {
  const first = acceptLanguage?.split(',')[0]?.trim().toLowerCase() ?? ''
  return first === '' || first === '*' || first.startsWith('zh') ? 'zh' : 'en'
}
