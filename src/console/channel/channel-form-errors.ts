import type { Channel } from '../../contract/channel-api.ts'
import { channelType, trimBaseUrl } from '../../contract/channel-types.ts'
import type { FormError } from '../app/form/form-errors.ts'
import { localText, mark } from '../app/i18n.ts'
import { wholeNumber } from '../ui/field/whole-number.ts'
import {
  type ChannelForm,
  hasField,
  isOptionalPart,
  keepsSecret,
  needsKey,
  needsKeyAgain,
} from './channel-form.ts'
import { isObjectText, isProxyAddress, isStringMapText } from './override/channel-overrides.ts'

/** Errors by path in the form, such as `config.ak`. */
export type FormErrors = Map<string, FormError>

const NAME_AND_KEY = mark('请填写渠道名称和渠道密钥！')

/** Errors that prevent submission; `before` is the edited channel. */
export function formErrors(form: ChannelForm, before: Channel | null): FormErrors {
  return new Map([
    ...nameErrors(form, before),
    ...addressErrors(form),
    ...fieldErrors(form, before),
    ...keyErrors(form, before),
    ...modelErrors(form),
    ...numberErrors(form),
    ...overrideErrors(form, before),
  ])
}

type Found = [field: string, error: FormError][]

function nameErrors({ name, groups }: ChannelForm, before: Channel | null): Found {
  // Channels created by other programs may have no name and can still be edited.
  const needsName = before === null || (before.name ?? '') !== ''
  const errors: Found = []
  if (needsName && name.trim() === '') {
    errors.push(['name', { text: mark('请填写渠道名称'), toast: NAME_AND_KEY }])
  }
  if (groups.length === 0) {
    errors.push(['groups', { text: mark('请至少选择一个分组，例如 default') }])
  }
  return errors
}

function addressErrors({ type, baseUrl }: ChannelForm): Found {
  const { mode, label, placeholder } = channelType(type).baseUrlField
  const address = trimBaseUrl(baseUrl)
  const values = { label: localText(label), example: placeholder }
  if (mode === 'required' && address === '') {
    return [['baseUrl', { text: mark('请填写「{{label}}」，例如 {{example}}'), values }]]
  }
  if (mode === 'hidden' || address === '' || isWebAddress(address)) return []
  return [
    ['baseUrl', { text: mark('地址须以 http:// 或 https:// 开头，例如 {{example}}'), values }],
  ]
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol)
}

function fieldErrors(form: ChannelForm, before: Channel | null): Found {
  return channelType(form.type).fields.flatMap((field): Found => {
    const { config: member, label, required, placeholder } = field
    const isMissing = required && form.config[member].trim() === ''
    if (!isMissing || isOptionalPart(form, before, member)) return []
    if (field.secret && keepsSecret(form, before, member)) return []
    const values = { label: localText(label), example: placeholder }
    const text =
      placeholder === ''
        ? mark('请填写「{{label}}」')
        : mark('请填写「{{label}}」，例如 {{example}}')
    return [[`config.${member}`, { text, values }]]
  })
}

function keyErrors(form: ChannelForm, before: Channel | null): Found {
  if (!needsKey(form, before) || form.key.trim() !== '') return []
  if (before?.type === form.type && form.overrides.proxy !== '') {
    return [['key', { text: mark('网络代理已更改，请重新填写密钥') }]]
  }
  return needsKeyAgain(form, before)
    ? [['key', { text: mark('类型或地址已更改，请重新填写密钥') }]]
    : [['key', { text: mark('请填写渠道密钥'), toast: NAME_AND_KEY }]]
}

function modelErrors({ type, models, mapping }: ChannelForm): Found {
  const errors: Found = []
  if (channelType(type).needsModels && models.length === 0) {
    errors.push(['models', { text: mark('请至少选择一个模型') }])
  }
  if (hasField(type, 'model_mapping') && !isJson(mapping)) {
    errors.push(['mapping', { text: mark('模型重定向必须是有效的 JSON，例如 {"gpt-4":"gpt-4o"}') }])
  }
  return errors
}

/** Whether the text is empty or JSON. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text.trim() || '{}')
    return true
  } catch {
    return false
  }
}

function overrideErrors(form: ChannelForm, before: Channel | null): Found {
  const { proxy, headers, params } = form.overrides
  const errors: Found = []
  if (proxy !== null && proxy !== '' && !isProxyAddress(proxy)) {
    const text = mark('网络代理须是 http:// 或 https:// 开头的地址，例如 http://127.0.0.1:3128')
    errors.push(['overrides.proxy', { text }])
  }
  const isTyped = headers !== null && headers.trim() !== ''
  if (isTyped && !isStringMapText(headers)) {
    const text = mark('请求头覆盖须是 JSON 对象，值为字符串，例如 {"X-Team": "blue"}')
    errors.push(['overrides.headers', { text }])
  }
  const isKept = before?.config_set?.includes('header_override') === true && headers === ''
  if (isKept && before.type === form.type && needsKeyAgain(form, before)) {
    const text = mark('请求会发往别处，请重新填写请求头覆盖，或移除它')
    errors.push(['overrides.headers', { text }])
  }
  if (params.trim() !== '' && !isObjectText(params)) {
    const text = mark('参数覆盖须是 JSON 对象，例如 {"temperature": 0.7}')
    errors.push(['overrides.params', { text }])
  }
  return errors
}

function numberErrors({ priority, weight }: ChannelForm): Found {
  const isWrong = (text: string) => text.trim() !== '' && wholeNumber(text) === null
  const errors: Found = []
  if (isWrong(priority)) errors.push(['priority', { text: mark('优先级须是整数，例如 10') }])
  if (isWrong(weight)) errors.push(['weight', { text: mark('权重须是不小于 0 的整数，例如 1') }])
  return errors
}
