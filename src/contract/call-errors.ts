import type { ErrorSpec } from './error-spec.ts'

/** Errors that a request to any endpoint may get, before it is handled. */
export const callErrors = {
  // Authentication and access
  not_signed_in: {
    status: 401,
    real: true,
    zh: '未登录或登录已过期，请重新登录',
    en: 'You are not signed in, or your session has expired. Sign in again',
  },
  access_token_invalid: {
    status: 401,
    zh: '系统访问令牌无效，请在个人设置中重新生成',
    en: 'The system access token is not valid. Generate a new one in your settings',
  },
  access_token_expired: {
    status: 401,
    zh: '系统访问令牌已过期，请在个人设置中新建',
    en: 'The system access token has expired. Create a new one in your settings',
  },
  access_token_scope: {
    status: 403,
    zh: '该系统访问令牌的权限范围不包含此接口，请在个人设置中新建一个范围合适的令牌',
    en: 'The scopes of this system access token do not include this call. Create one with fitting scopes in your settings',
  },
  access_token_session_needed: {
    status: 403,
    zh: '不能用有名称的系统访问令牌管理系统访问令牌，请登录控制台后操作',
    en: 'A named system access token cannot manage access tokens. Sign in to the console to do so',
  },
  authorization_ambiguous: {
    status: 400,
    zh: '请求带有两个不同的 Authorization 请求头，请只保留一个',
    en: 'The request has two different Authorization headers. Send only one',
  },
  user_disabled: {
    status: 403,
    zh: '该用户已被封禁，请联系管理员',
    en: 'This user is banned. Contact an administrator',
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
  host_unknown: {
    status: 421,
    real: true,
    zh: '服务器只在本机监听，不接受主机名「{host}」。若前面有反向代理，请设置 TRUSTED_PROXIES={peer} 并让代理发送 X-Forwarded-For；否则请在本机登录，把选项「服务器地址」（ServerAddress）设为浏览器使用的地址',
    en: 'The server listens on loopback and rejects the host name “{host}”. Behind a reverse proxy, set TRUSTED_PROXIES={peer} and make the proxy send X-Forwarded-For. Otherwise sign in on the server itself and set the option ServerAddress to the address that browsers use',
  },
  too_many_pages: {
    status: 429,
    zh: '访问过于频繁，请过几分钟再刷新',
    en: 'Too many requests from your address. Reload the page in a few minutes',
  },
  condition_unmet: {
    status: 412,
    real: true,
    zh: '文件已与请求的条件不符，请重新获取',
    en: 'The file does not meet the condition of the request; fetch it again',
  },
  manual_missing: {
    status: 404,
    real: true,
    zh: '此服务器没有安装使用手册：在源码目录运行 npm run docs，或安装发布的软件包',
    en: 'The manual is not installed on this server: run “npm run docs” in the clone, or install the released package',
  },
  // Parameters and bodies
  invalid_parameter: { status: 400, zh: '无效的参数', en: 'Invalid parameter' },
  invalid_field: {
    status: 400,
    zh: '参数{fieldZh}无效：{problemZh}',
    en: 'Invalid value for {fieldEn}: {problemEn}',
  },
  text_unreadable: {
    status: 400,
    zh: '{fieldZh}含有不可见的控制字符，请删除后重试',
    en: '{fieldEn} contains invisible control characters; remove them and try again',
  },
  body_not_json: {
    status: 400,
    zh: '请求体不是有效的 JSON 对象',
    en: 'The request body is not a valid JSON object',
  },
  body_not_utf8: {
    status: 400,
    zh: '请求体不是 UTF-8 编码，请转换后重试',
    en: 'The request body is not UTF-8; convert it and try again',
  },
  body_packed: {
    status: 400,
    zh: '请求体无法按 Content-Encoding 解压；支持 gzip、deflate、br 和 zstd',
    en: 'The request body cannot be decompressed as its Content-Encoding says; supported are gzip, deflate, br and zstd',
  },
  body_compression_refused: {
    status: 415,
    real: true,
    zh: '此接口不接受压缩的请求体，请去掉 Content-Encoding，发送未压缩的 JSON',
    en: 'This endpoint does not accept compressed bodies. Remove Content-Encoding and send uncompressed JSON',
  },
  body_too_complex: {
    status: 400,
    zh: '请求体内容过多或嵌套过深：最多 {values} 个值、{depth} 层',
    en: 'The request body is too complex: it can have at most {values} values and {depth} levels of nesting',
  },
  body_empty: {
    status: 400,
    zh: '缺少请求体，需要 JSON 对象',
    en: 'The request body is missing; it must be a JSON object',
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
    zh: '请求体超过 {limit} 的上限',
    en: 'The request body is larger than the limit of {limit}',
  },
  body_slow: {
    status: 408,
    real: true,
    code: 'request_timeout',
    zh: '请求体未在 {limit} 秒内发送完',
    en: 'The request body did not arrive within {limit} seconds',
  },
  not_found: { status: 404, zh: '没有找到该记录', en: 'No such record' },
  path_unknown: {
    status: 404,
    zh: '没有这个接口（{method} {path}）',
    en: 'There is no such endpoint ({method} {path})',
  },
  path_elsewhere: {
    status: 404,
    zh: '没有这个接口（{method} {path}）；API 地址为 {address}',
    en: 'There is no such endpoint ({method} {path}). The API is at {address}',
  },
  internal: {
    status: 500,
    real: true,
    code: 'internal_error',
    zh: '服务器内部错误，请联系管理员',
    en: 'Internal server error. Contact the administrator',
  },
  database_unavailable: {
    status: 503,
    real: true,
    code: 'database_unavailable',
    retryAfter: 5,
    zh: '数据库暂时不可用，请稍后再试',
    en: 'The database is unavailable at the moment. Try again shortly',
  },
  log_store_unavailable: {
    status: 503,
    real: true,
    code: 'log_store_unavailable',
    retryAfter: 5,
    zh: '日志库暂时不可用，请稍后再试；转发与计费不受影响',
    en: 'The log store is unavailable at the moment. Try again shortly; calls and billing are not affected',
  },
  busy: {
    status: 503,
    real: true,
    code: 'overloaded',
    retryAfter: 2,
    zh: '服务器繁忙或正在停止，请稍后再试',
    en: 'The server is busy or shutting down. Try again shortly',
  },
} as const satisfies Record<string, ErrorSpec>
