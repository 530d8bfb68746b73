import type { ErrorSpec } from './error-spec.ts'

/** Errors about channels in the management API. */
export const channelErrors = {
  channel_key_missing: {
    status: 400,
    zh: '请填写渠道密钥',
    en: 'Enter the channel’s key',
  },
  channel_key_needed_again: {
    status: 400,
    zh: '修改渠道的类型、地址或代理时，需要重新填写密钥',
    en: 'To change a channel’s type, address or proxy, enter its key again',
  },
  channel_key_last: {
    status: 400,
    zh: '这是渠道的最后一个密钥，不能移除；可以改为禁用渠道',
    en: 'This is the last key of the channel and cannot be removed; disable the channel instead',
  },
  channel_key_last_in_use: {
    status: 400,
    zh: '其余密钥均已手动暂停，渠道将没有可用的密钥；可以改为禁用渠道',
    en: 'All other keys are paused manually, so the channel would have no usable key; disable the channel instead',
  },
  route_user_unknown: {
    status: 404,
    zh: '没有这个用户，请检查用户名或 ID',
    en: 'User not found; check the name or id',
  },
  route_token_unknown: {
    status: 404,
    zh: '该用户没有这个令牌，请检查令牌的名称或 ID',
    en: 'The user has no such token; check the name or id of the token',
  },
  route_path_unknown: {
    status: 404,
    zh: '没有这个接口：{path}',
    en: 'There is no such endpoint: {path}',
  },
  route_protocol: {
    status: 400,
    zh: '能用的渠道都不支持这种调用，或没有填写接口地址',
    en: 'The usable channels do not support this endpoint, or have no base URL',
  },
  channel_base_url_invalid: {
    status: 400,
    zh: '接口地址「{url}」无效：须以 http:// 或 https:// 开头，不能含有用户名、密码、? 或 #',
    en: 'The base URL “{url}” is not valid: it must start with http:// or https:// and contain no username, password, ? or #',
  },
  channel_mapping_invalid: {
    status: 400,
    zh: '模型重定向必须是 JSON 对象，值为字符串，例如 {"a": "b"}',
    en: 'The model mapping must be a JSON object of strings, such as {"a": "b"}',
  },
  channel_proxy_invalid: {
    status: 400,
    zh: '代理地址无效：须以 http:// 或 https:// 开头，不能有路径，也不能指向云主机元数据',
    en: 'The proxy is not valid: use http:// or https:// without a path, and not a cloud metadata service',
  },
  channel_proxy_socks: {
    status: 400,
    zh: '不支持 SOCKS 代理，请填写 http:// 或 https:// 开头的 HTTP 代理',
    en: 'SOCKS proxies are not supported; enter an HTTP proxy that starts with http:// or https://',
  },
  channel_header_override_invalid: {
    status: 400,
    zh: '请求头覆盖必须是 JSON 对象，值为字符串；「{name}」不能这样设置',
    en: 'Header overrides must be a JSON object of strings; “{name}” cannot be set there',
  },
  channel_header_override_shape: {
    status: 400,
    zh: '请求头覆盖必须是 JSON 对象',
    en: 'Header overrides must be a JSON object',
  },
  channel_param_override_shape: {
    status: 400,
    zh: '参数覆盖必须是 JSON 对象',
    en: 'Parameter overrides must be a JSON object',
  },
  channel_param_override_invalid: {
    status: 400,
    zh: '参数覆盖必须是 JSON 对象；「{name}」不能覆盖',
    en: 'Parameter overrides must be a JSON object; “{name}” cannot be overridden',
  },
  channel_config_invalid: {
    status: 400,
    zh: '渠道配置必须是 JSON 对象',
    en: 'The channel configuration must be a JSON object',
  },
  channel_status_invalid: {
    status: 400,
    zh: '渠道状态只能是 1、2 或 3',
    en: 'A channel’s status must be 1, 2 or 3',
  },
  channel_test_running: {
    status: 409,
    zh: '渠道测试正在进行，请稍后再试',
    en: 'A channel test is already running. Try again later',
  },
  channel_test_unsupported: {
    status: 501,
    zh: '「{type}」类型的渠道暂不支持测试',
    en: 'Channels of type “{type}” cannot be tested yet',
  },
  channel_address_forbidden: {
    status: 400,
    zh: '接口地址「{url}」不能使用：它指向云主机元数据或无法路由的地址',
    en: 'The base URL “{url}” cannot be used: it points to a cloud metadata service or an unroutable address',
  },
  channel_balance_unsupported: {
    status: 501,
    zh: '「{type}」类型的上游不提供余额查询',
    en: 'Upstreams of type “{type}” do not report a balance',
  },
  channel_balance_unreadable: {
    status: 502,
    zh: '上游的响应中没有可识别的余额',
    en: 'The upstream response contains no readable balance',
  },
  channel_balance_currency: {
    status: 502,
    zh: '上游的余额以 {currency} 计价，无法按人民币显示',
    en: 'The upstream reports its balance in {currency}, which cannot be shown as yuan',
  },
  channel_models_unsupported: {
    status: 501,
    zh: '「{type}」类型的渠道暂不支持从上游获取模型，请手动填写',
    en: 'The models of type “{type}” cannot be fetched from the upstream yet; enter them manually',
  },
  channel_models_unreadable: {
    status: 502,
    zh: '上游的响应中没有可识别的模型列表',
    en: 'The upstream response contains no readable list of models',
  },
  channel_address_missing: {
    status: 400,
    zh: '请先填写接口地址',
    en: 'Enter the base URL of the channel first',
  },
  channel_upstream_said: {
    status: 502,
    zh: '上游返回状态码 {status}：{detail}',
    en: 'The upstream responded with status {status}: {detail}',
  },
  channel_test_failed: {
    status: 502,
    zh: '测试失败：{detailZh}',
    en: 'The test failed: {detailEn}',
  },
  channel_test_ended: {
    status: 502,
    zh: '测试被中止，或上游的响应过大',
    en: 'The test was stopped, or the upstream response is too large',
  },
} as const satisfies Record<string, ErrorSpec>
