/**
 * `npm run docs -- --errors`: brings the headings and facts of the manual's pages of error codes up
 * to date with the catalogue (`src/contract/errors.ts`). The explanations below the headings are
 * kept.
 */
import { accountErrors } from '../src/contract/account-errors.ts'
import { callErrors } from '../src/contract/call-errors.ts'
import { channelErrors } from '../src/contract/channel-errors.ts'
import type { ErrorSpec } from '../src/contract/error-spec.ts'
import type { Language } from '../src/contract/errors.ts'
import { limitErrors } from '../src/contract/limit-errors.ts'
import { recordErrors } from '../src/contract/record-errors.ts'
import { relayErrors } from '../src/contract/relay-errors.ts'

interface Area {
  id: string
  title: Record<Language, string>
  /** The relay answers with the status of the catalogue, the management API mostly with 200. */
  isRelayed: boolean
  codes: Readonly<Record<string, ErrorSpec>>
}

const AREAS: readonly Area[] = [
  {
    id: 'relay',
    title: { zh: '调用模型', en: 'Model calls' },
    isRelayed: true,
    codes: relayErrors,
  },
  {
    id: 'limits',
    title: { zh: '限制与预算', en: 'Limits and budgets' },
    isRelayed: true,
    codes: limitErrors,
  },
  { id: 'calls', title: { zh: '所有请求', en: 'Any request' }, isRelayed: true, codes: callErrors },
  {
    id: 'accounts',
    title: { zh: '账户与登录', en: 'Accounts and sign-in' },
    isRelayed: false,
    codes: accountErrors,
  },
  {
    id: 'channels',
    title: { zh: '渠道管理', en: 'Channel management' },
    isRelayed: false,
    codes: channelErrors,
  },
  {
    id: 'records',
    title: { zh: '令牌、兑换码、日志与设置', en: 'Tokens, redemption codes, logs and settings' },
    isRelayed: false,
    codes: recordErrors,
  },
]

const END_OF_INTRODUCTION = '<!-- codes -->'
const HEADING = /^### `(\w+)`.*$/

/** Returns the explanation below the facts of each code. */
function explanations(page: string): Map<string, string> {
  const found = new Map<string, string[]>()
  let current: string[] = []
  for (const line of page.split('\n')) {
    const code = HEADING.exec(line)?.[1]
    if (code !== undefined) found.set(code, (current = []))
    else if (line.startsWith('## ')) current = []
    else if (!line.startsWith('> ')) current.push(line)
  }
  return new Map([...found].map(([code, lines]) => [code, lines.join('\n').trim()]))
}

function factsOf(name: string, spec: ErrorSpec, { isRelayed }: Area, language: Language): string {
  const code = spec.code ?? name
  const status = isRelayed || spec.real === true ? spec.status : 200
  const shown = code === name || !isRelayed ? '' : ` · \`error.code\` \`${code}\``
  // `{name}` would be read as a template by the site's renderer.
  const sentence = spec[language].replaceAll(/[{}<]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return `> HTTP ${status}${shown} · ${sentence}`
}

/** The page with a section for each code of the catalogue, in the order of the catalogue. */
export function withErrorFacts(page: string, language: Language): string {
  const [introduction = ''] = page.split(END_OF_INTRODUCTION)
  const written = explanations(page)
  const sections = AREAS.flatMap((area) => [
    `## ${area.title[language]} {#${area.id}}`,
    ...Object.entries(area.codes).map(([name, spec]) =>
      [
        `### \`${name}\` {#${name}}`,
        factsOf(name, spec, area, language),
        ...(written.get(name) ? [written.get(name)] : []),
      ].join('\n\n'),
    ),
  ])
  return `${introduction}${END_OF_INTRODUCTION}\n\n${sections.join('\n\n')}\n`
}

/** Codes that a page does not explain. */
export function unexplainedCodes(page: string): string[] {
  const written = explanations(page)
  return AREAS.flatMap(({ codes }) => Object.keys(codes)).filter((code) => !written.get(code))
}
