import type { ErrorSpec } from './error-spec.ts'

/** What callers of models are told. */
export const relayErrors = {
  token_missing: { status: 401, zh: '请求没有携带令牌', en: 'The call carries no token' },
  token_unknown: {
    status: 401,
    zh: '令牌无效，请检查密钥是否完整',
    en: 'The token is not valid; check that its key is complete',
  },
  token_exhausted: {
    status: 401,
    zh: '令牌的额度已用尽，请在控制台增加额度',
    en: 'The token has no quota left; add quota to it in the console',
  },
  token_expired: {
    status: 401,
    zh: '令牌已过期，请在控制台修改过期时间',
    en: 'The token has expired; change its expiry in the console',
  },
  token_disabled: { status: 401, zh: '令牌已被禁用', en: 'The token is disabled' },
  token_address_not_allowed: {
    status: 403,
    zh: '令牌不能从当前网络地址使用',
    en: 'The token may not be used from this address',
  },
  token_owner_disabled: {
    status: 403,
    zh: '令牌所属的用户已被封禁',
    en: 'The owner of the token is banned',
  },
  token_model_not_allowed: {
    status: 403,
    zh: '令牌无权使用模型 {model}',
    en: 'The token may not use the model {model}',
  },
  token_group_not_allowed: {
    status: 403,
    code: 'token_group_not_allowed',
    zh: '令牌的所有者不能使用分组 {group}，请为令牌选择其他分组',
    en: 'The owner of the token may not use the group {group}; choose another one for the token',
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
  form_unexpected: {
    status: 400,
    zh: '此地址接收 JSON，收到的却是表单（multipart/form-data），请以 JSON 发送请求体',
    en: 'This address takes JSON, but a form (multipart/form-data) was sent; send the body as JSON',
  },
  form_required: {
    status: 400,
    zh: '此地址接收表单（multipart/form-data），请将录音作为其中名为 file 的文件发送',
    en: 'This address takes a form (multipart/form-data); send the recording as its file named file',
  },
  form_file_unnamed: {
    status: 400,
    zh: '表单中的 {field} 没有文件名，请写明 filename，将其作为文件发送',
    en: 'The part {field} of the form has no filename; name one, so that it is sent as a file',
  },
  recording_by_address: {
    status: 400,
    zh: '录音不能以地址提供（{field}），请将其作为名为 file 的文件发送',
    en: 'A recording cannot be given by its address ({field}); send it as a file named file',
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
  picture_field_invalid: {
    status: 400,
    code: 'invalid_image_request',
    zh: '参数 {field} 无效',
    en: 'The field {field} is invalid',
  },
  spoken_field_invalid: {
    status: 400,
    code: 'invalid_json',
    zh: '参数 {field} 无效',
    en: 'The field {field} is invalid',
  },
  picture_prompt_missing: {
    status: 400,
    code: 'prompt_missing',
    zh: '缺少参数 prompt',
    en: 'The field prompt is required',
  },
  picture_prompt_too_long: {
    status: 400,
    code: 'prompt_too_long',
    zh: '模型 {model} 的 prompt 最多 {max} 字节',
    en: 'The model {model} takes a prompt of at most {max} bytes',
  },
  picture_size_unsupported: {
    status: 400,
    code: 'size_not_supported',
    zh: '模型 {model} 不支持尺寸 {size}',
    en: 'The model {model} does not make images of the size {size}',
  },
  picture_count_out_of_range: {
    status: 400,
    code: 'n_not_within_range',
    zh: '模型 {model} 一次可以生成 1 到 {max} 张图片',
    en: 'The model {model} makes at most {max} images per call',
  },
  spoken_text_too_long: {
    status: 400,
    code: 'text_too_long',
    zh: '模型 {model} 的 input 最多 {max} 个字符',
    en: 'The model {model} reads at most {max} characters of input',
  },
  relay_calls_too_many: {
    status: 429,
    zh: '调用过于频繁，请稍后再试',
    en: 'Too many calls. Try again later',
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
  relay_items_not_kept: {
    status: 400,
    code: 'unsupported_parameter',
    zh: '可用于此模型的渠道不保存条目，{field} 无从引用：请将 store 设为 false 并发送完整条目',
    en: 'No channel of this model keeps what {field} refers to: set store to false, send whole items',
  },
  relay_tokens_unreadable: {
    status: 400,
    code: 'unsupported_parameter',
    zh: '可用于此模型的渠道只接受文本，{field} 中的 token 编号无法还原，请改为发送文本',
    en: 'The channels of this model take text; the token numbers in {field} stand for none: send text',
  },
  relay_field_other_model: {
    status: 400,
    code: 'unsupported_parameter',
    zh: '参数 {field} 会用到另一个模型，该模型既未获准也未计价，请直接调用它',
    en: 'The field {field} brings in another model, neither permitted nor priced; call it directly',
  },
  relay_field_other_price: {
    status: 400,
    code: 'unsupported_parameter',
    zh: '参数 {field} 的取值不按标准价格计费，此处不提供',
    en: 'The field {field} asks for a service priced differently from the standard one; it is not offered here',
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
  // Begins as OpenAI's own, which programs know it by.
  response_item_unknown: {
    status: 404,
    code: 'item_not_found',
    zh: '没有编号为 {id} 的条目，或它已过期',
    en: "Item with id '{id}' not found, or it has expired",
  },
  proxy_path_invalid: {
    status: 400,
    zh: '代理的路径无效',
    en: 'The path to be proxied is invalid',
  },
  user_quota_insufficient: {
    status: 403,
    code: 'insufficient_user_quota',
    zh: '账户余额不足，请充值后重试',
    en: 'Your account does not have enough quota; top up and try again',
  },
  token_quota_insufficient: {
    status: 403,
    code: 'pre_consume_token_quota_failed',
    zh: '令牌额度不足，请在控制台增加额度',
    en: 'The token does not have enough quota; add quota to it in the console',
  },
  channel_incomplete: {
    status: 503,
    zh: '「{type}」渠道的密钥、区域、账户或地址不完整，请管理员补全',
    en: 'A channel of type “{type}” lacks a usable key, region, account or address',
  },
  channel_retired: {
    status: 503,
    zh: '「{type}」的服务已经停止，请管理员改用其他类型的渠道',
    en: 'The service of type “{type}” has shut down; use a channel of another type',
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
  upgrade_unsupported: {
    status: 426,
    zh: '此接口不支持 WebSocket，请用 HTTP 发送 POST 请求',
    en: 'There is no WebSocket at this address; send a POST over HTTP',
  },
  upstream_busy: {
    status: 429,
    zh: '上游繁忙，请稍后再试',
    en: 'The upstream is busy. Try again later',
  },
  upstream_unreachable: {
    // As One API's clients know it.
    status: 500,
    code: 'do_request_failed',
    zh: '无法连接上游',
    en: 'The upstream cannot be reached',
  },
  upstream_unreachable_by: {
    status: 500,
    code: 'do_request_failed',
    zh: '无法连接上游（{reason}）',
    en: 'The upstream cannot be reached ({reason})',
  },
  proxy_refused: {
    status: 500,
    code: 'do_request_failed',
    zh: '代理拒绝转发，返回状态码 {status}',
    en: 'The proxy refused to pass the call on, with status {status}',
  },
  upstream_timeout: {
    status: 504,
    code: 'upstream_timeout',
    zh: '上游未及时响应',
    en: 'The upstream did not answer in time',
  },
  upstream_answer_invalid: {
    status: 500,
    code: 'unmarshal_response_body_failed',
    zh: '上游的响应无法解析',
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
    zh: '上游中断了响应',
    en: 'The upstream broke off its answer',
  },
} as const satisfies Record<string, ErrorSpec>
