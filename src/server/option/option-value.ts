import { ChannelTypeNumber } from '../../contract/channel-type-number.ts'
import { isApiPath } from '../../contract/own-api-path.ts'
import { isReadable, length } from '../../contract/text.ts'
import { auditSinkOf } from '../audit/audit-sink-address.ts'
import { senderAddress } from '../mail/mail-address.ts'
import { isTimeZone } from '../time-zone.ts'
import { ratioMapJson } from './default-ratios.ts'
import { isWebAddress } from './web-address.ts'
import { duplicateRatioName, parseRatios, ratiosInForce } from './ratio-text.ts'

/** Validation of option values by kind. Values are sent and stored as text. */

/** Error message for a value in both languages; null if the value is valid. */
export type Problem = { zh: string; en: string } | null

export interface OptionSpec {
  default: string
  check(value: string): Problem
  /**
   * Returns the nearest valid value for an invalid one; the value itself if there is no such value.
   */
  mended?(value: string): string
  /** Returns the text to store for a new value, if parts of it stay as they are stored. */
  completed?(value: string, before: string): string
  /** Returns what a client may see of a stored text, if that is not all of it. */
  shown?(value: string): string
}

/** Characters. */
const TEXT_MAX = 1_000_000
const LINE_MAX = 2048

function textProblem(text: string, max: number): Problem {
  if (text.length > max && length(text) > max) {
    return { zh: `最多 ${max} 个字符`, en: `it must have at most ${max} characters` }
  }
  // PostgreSQL cannot store NUL, and neither database can store an unpaired surrogate.
  return text.includes('\u0000') || !text.isWellFormed()
    ? { zh: '含有无法保存的字符', en: 'it contains characters that cannot be stored' }
    : null
}

function lineProblem(text: string): Problem {
  return isReadable(text)
    ? textProblem(text, LINE_MAX)
    : {
        zh: '不能换行，也不能含有控制字符',
        en: 'it must be a single line without control characters',
      }
}

const unless = (isFine: boolean, zh: string, en: string): Problem => (isFine ? null : { zh, en })

/** The part of a contract row that checks need. */
interface Row {
  default: string
}
interface Range extends Row {
  min: number
  max: number
}

export const flag = (row: Row): OptionSpec => ({
  default: row.default,
  check: (text) =>
    unless(text === 'true' || text === 'false', '需要 true 或 false', 'it must be true or false'),
})

export function numberWithin({
  default: value,
  min,
  max,
  step,
}: Range & { step: number }): OptionSpec {
  const isWhole = Number.isInteger(step)
  const spelling = isWhole ? /^\d{1,16}$/ : /^\d{1,16}(\.\d{1,10})?$/
  return {
    default: value,
    check: (text) =>
      unless(
        spelling.test(text) && Number(text) >= min && Number(text) <= max,
        `需要 ${min} 到 ${max} 之间的${isWhole ? '整数' : '数'}`,
        `it must be a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}`,
      ),
  }
}

/** Makes the value optional: an empty text is valid. */
const orNothing = (spec: OptionSpec): OptionSpec => ({
  default: spec.default,
  check: (text) => (text === '' ? null : spec.check(text)),
})

export const optionalNumber = (row: Range): OptionSpec =>
  orNothing(numberWithin({ ...row, step: 0.1 }))

export const line = (row: Row): OptionSpec => ({ default: row.default, check: lineProblem })

export const longText = (row: Row): OptionSpec => ({
  default: row.default,
  check: (text) => textProblem(text, TEXT_MAX),
})

export const address = (row: Row): OptionSpec =>
  orNothing({
    default: row.default,
    check: (text) =>
      lineProblem(text) ??
      unless(
        isWebAddress(text),
        '需要以 http:// 或 https:// 开头的地址，例如 https://example.com',
        'it must be an address that starts with http:// or https://, such as https://example.com',
      ),
  })

export const auditSink = (row: Row): OptionSpec =>
  orNothing({
    default: row.default,
    check: (text) =>
      lineProblem(text) ??
      unless(
        auditSinkOf(text) !== null,
        '需要 https:// 地址，或 syslog+udp://主机:端口、syslog+tcp://主机:端口',
        'it is an https:// address, or syslog+udp://host:port, syslog+tcp://host:port',
      ),
  })

/**
 * Whether a relative path could be an API path under some base path. Every reader's browser loads
 * the image with the reader's session, so it must not call the API. The console checks absolute
 * URLs, because only it has the host name.
 */
const mayLeadToApi = (file: string): boolean => {
  const segments = file.split('/')
  return segments.some((_, index) => isApiPath(`/${segments.slice(index).join('/')}`))
}

/** Source of an `<img>`: a URL, a file of the console, or a data URL. */
export const picture = (row: Row): OptionSpec =>
  orNothing({
    default: row.default,
    check(text) {
      if (/^data:image\/[\w.+-]+[;,]/i.test(text)) return textProblem(text, TEXT_MAX)
      const isFile = /^(\.{0,2}\/)?[\w.-]+(\/[\w.-]+)*$/.test(text) && !mayLeadToApi(text)
      return (
        lineProblem(text) ??
        unless(
          isFile || isWebAddress(text),
          '需要图片的地址，例如 https://example.com/logo.png',
          'it must be the address of an image, such as https://example.com/logo.png',
        )
      )
    },
  })

const DOMAIN = /^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)*$/u

/** A comma-separated list of mail domains. */
export const domains = (row: Row): OptionSpec => ({
  default: row.default,
  check(text) {
    const wrong = text
      .split(',')
      .map((domain) => domain.trim())
      .find((domain) => text !== '' && !DOMAIN.test(domain))
    return (
      lineProblem(text) ??
      unless(
        wrong === undefined,
        `「${wrong?.slice(0, 100)}」不是域名，例如 example.com`,
        `“${wrong?.slice(0, 100)}” is not a domain such as example.com`,
      )
    )
  },
})

const ALL = '*'

/** A comma-separated list of channel type numbers; `*` for all, empty for no type. */
export const channelTypes = (row: Row): OptionSpec => ({
  default: row.default,
  check(text) {
    const wrong = text
      .split(',')
      .map((number) => number.trim())
      .find((number) => text !== '' && text !== ALL && !isKnownType(number))
    return (
      lineProblem(text) ??
      unless(
        wrong === undefined,
        `「${wrong?.slice(0, 100)}」不是渠道类型的编号，例如 50,36；* 表示所有类型`,
        `“${wrong?.slice(0, 100)}” is not a channel type; use numbers such as 50,36, or * for all types`,
      )
    )
  },
  // Earlier versions stored a switch.
  mended: (text) => (text === 'true' ? ALL : text === 'false' ? '' : text),
})

const isKnownType = (number: string): boolean =>
  Object.values(ChannelTypeNumber).some((type) => String(type) === number)

/** Whether a list of channel types contains a type. */
export const holdsType = (list: string, type: number): boolean =>
  list === ALL ||
  list === 'true' ||
  list.split(',').some((number) => number.trim() === String(type))

/** The sender of mails. */
export const sender = (row: Row): OptionSpec =>
  orNothing({
    default: row.default,
    check: (text) =>
      lineProblem(text) ??
      unless(
        DOMAIN.test(senderAddress(text)?.split('@')[1] ?? ''),
        '需要一个邮箱地址，例如 gateway@example.com',
        'it must be one email address, such as gateway@example.com',
      ),
  })

export function choice(row: Row & { choices: readonly { value: string }[] }): OptionSpec {
  const names = row.choices.map(({ value }) => value)
  return {
    default: row.default,
    check: (text) =>
      unless(
        names.includes(text),
        `只能是 ${names.join('、')}`,
        `it must be one of ${names.join(', ')}`,
      ),
  }
}

export const timeZone = (row: Row): OptionSpec => ({
  default: row.default,
  check: (text) =>
    unless(
      isTimeZone(text),
      '需要 IANA 时区名称，例如 Asia/Shanghai 或 UTC',
      'it must be the IANA name of a time zone, such as Asia/Shanghai or UTC',
    ),
})

/** A ratio map as JSON text. `defaults` is called when the default is first read. */
export const ratios = (defaults: () => string): OptionSpec => ({
  get default() {
    return defaults()
  },
  check(text) {
    const parsed = parseRatios(text)
    if (!(parsed instanceof Map)) return parsed
    const twice = duplicateRatioName(text)
    return (
      textProblem(text, TEXT_MAX) ??
      unless(
        twice === null,
        `「${twice?.slice(0, 100)}」出现了不止一次`,
        `“${twice?.slice(0, 100)}” occurs more than once`,
      ) ??
      nameProblem(parsed.keys())
    )
  },
  mended(text) {
    const readable = ratiosInForce(text)
    return readable.size === 0 ? text : ratioMapJson(readable)
  },
})

/** Characters. */
const RATIO_NAME_MAX = 200

/**
 * Names are used in comma-separated lists of models and groups, so they must not contain commas.
 */
export function nameProblem(names: Iterable<string>): Problem {
  for (const name of names) {
    const isFine =
      name !== '' &&
      name.trim() === name &&
      !/[,，]/.test(name) &&
      length(name) <= RATIO_NAME_MAX &&
      lineProblem(name) === null
    if (!isFine) {
      const shown = JSON.stringify(name.slice(0, 50))
      return {
        zh: `名称 ${shown} 不能为空、不能以空格开头或结尾、不能含有逗号或控制字符，最多 ${RATIO_NAME_MAX} 个字符`,
        en: `the name ${shown} must not be empty, begin or end with a space, or contain commas or control characters, and may have at most ${RATIO_NAME_MAX} characters`,
      }
    }
  }
  return null
}

/** A ratio map with at least one entry: without any group no user could call a model. */
export function groupRatios(defaults: () => string): OptionSpec {
  const spec = ratios(defaults)
  return {
    get default() {
      return defaults()
    },
    ...(spec.mended === undefined ? {} : { mended: spec.mended }),
    check: (text) =>
      spec.check(text) ??
      unless(
        Object.keys(JSON.parse(text)).length > 0,
        '至少需要一项，例如 {"default":1}',
        'it must have at least one entry, such as {"default":1}',
      ),
  }
}
