import type { TFunction } from 'i18next'
import type { Log } from '../../contract/log-api.ts'
import { LogType } from '../../contract/log.ts'
import { currentLanguage, mark } from '../app/i18n.ts'
import { secondsText, stampText } from '../app/time.ts'
import type { Block, Column } from '../ui/data-table.tsx'
import { Tag, type TagHue } from '../ui/marks.tsx'
import { TwoLines } from '../ui/table/two-lines.tsx'
import type { LogRow } from './log-list.ts'
import { contentText } from './text/content-text.ts'
import styles from './log.module.css'

/** How cells are formatted, and how a row is opened. */
export interface LogTexts {
  t: TFunction
  /** Formats points as money or a count, with the decimals that a single call needs. */
  costText: (quota: number) => string
  isAdmin: boolean
  /** The language has long words: heads need more space. */
  hasLongWords: boolean
  open: (row: LogRow) => void
}

const typeNames = new Map<number, { name: string; hue: TagHue }>([
  [LogType.topUp, { name: mark('充值'), hue: 'green' }],
  [LogType.consume, { name: mark('消费'), hue: 'grey' }],
  [LogType.manage, { name: mark('管理'), hue: 'orange' }],
  [LogType.system, { name: mark('系统'), hue: 'purple' }],
  [LogType.test, { name: mark('测试'), hue: 'blue' }],
])

export const knownTypes: readonly number[] = [...typeNames.keys()]

/** Name of a log type; a type that newer or other programs wrote is shown by its number. */
export function typeText(type: number, t: TFunction): string {
  const known = typeNames.get(type)
  return known === undefined ? t('类型 {{type}}', { type }) : t(known.name)
}

export function TypeTag({ type, t }: { type: number; t: TFunction }) {
  return <Tag hue={typeNames.get(type)?.hue ?? 'grey'}>{typeText(type, t)}</Tag>
}

/** Empty for rows that are not calls. */
const countText = (count: number | undefined): string =>
  count === undefined || count === 0 ? '' : count.toLocaleString('en-US')

export const elapsedText = ({ elapsed_time: ms }: Log, t: TFunction): string =>
  ms > 0 ? t('{{seconds}} 秒', { seconds: secondsText(ms) }) : ''

const isConsumption = (log: Log) => log.type === LogType.consume

const quotaCell = (log: Log, { costText }: LogTexts): string =>
  log.quota !== 0 || isConsumption(log) ? costText(log.quota) : ''

/** A test costs and counts nothing: its result is shown instead. */
const isTest = (log: Log): boolean =>
  log.type === LogType.test && log.prompt_tokens === 0 && log.completion_tokens === 0

function TestResult({ log, t }: { log: Log; t: TFunction }) {
  const content = contentText(log.content, currentLanguage())
  const said = [content, elapsedText(log, t)].filter((part) => part !== '').join(' · ')
  return <TwoLines text={said}>{said}</TwoLines>
}

/** Whether all columns between type and content are empty. */
const isSentence = (log: Log, texts: LogTexts): boolean =>
  log.token_name === '' && log.model_name === '' && quotaCell(log, texts) === ''

function Content({ log }: { log: Log }) {
  const content = contentText(log.content, currentLanguage())
  return (
    <TwoLines text={content}>
      <span className={styles['quiet']}>{content}</span>
    </TwoLines>
  )
}

/** Widths for a window of 1024 px, where rows are two lines high. */
export function logColumns(texts: LogTexts): Column<LogRow>[] {
  const { t, isAdmin, hasLongWords } = texts
  return [
    {
      id: 'created_at',
      head: t('时间'),
      cell: (row) => (
        <button
          type="button"
          className={styles['open']}
          title={t('查看详情')}
          onClick={() => texts.open(row)}
        >
          {stampText(row.log.created_at)}
        </button>
      ),
      width: 88,
      growth: 6,
    },
    ...(isAdmin ? whoColumns(texts) : []),
    {
      id: 'type',
      head: t('类型'),
      cell: ({ log }) => <TypeTag type={log.type} t={t} />,
      width: hasLongWords ? 72 : 56,
    },
    {
      id: 'token_name',
      head: t('令牌名称'),
      cell: ({ log }) => <TwoLines text={log.token_name} />,
      // A management row is a sentence without other columns.
      instead: ({ log }) => (isSentence(log, texts) ? <Content log={log} /> : null),
      width: 84,
      growth: 2,
    },
    {
      id: 'model_name',
      head: t('模型名称'),
      cell: ({ log }) => (
        <TwoLines text={log.model_name}>
          <code>{log.model_name}</code>
        </TwoLines>
      ),
      width: 120,
      growth: 3,
    },
    ...figureColumns(texts),
    {
      id: 'content',
      head: t('详情'),
      cell: ({ log }) => <Content log={log} />,
      width: hasLongWords ? 102 : 152,
      growth: hasLongWords ? 6 : 2,
    },
  ]
}

function whoColumns({ t, hasLongWords }: LogTexts): Column<LogRow>[] {
  return [
    {
      id: 'channel',
      head: t('渠道 ID'),
      cell: ({ log }) => (
        <span className={styles['quiet']}>{log.channel > 0 ? log.channel : ''}</span>
      ),
      align: 'end',
      width: hasLongWords ? 66 : 60,
      growth: 3,
    },
    {
      id: 'username',
      head: t('用户名'),
      cell: ({ log }) => <TwoLines text={log.username} />,
      width: 80,
      growth: 3,
    },
  ]
}

function figureColumns(texts: LogTexts): Column<LogRow>[] {
  const { t, hasLongWords } = texts
  return [
    {
      id: 'prompt_tokens',
      head: t('提示'),
      cell: ({ log }) => countText(log.prompt_tokens),
      instead: ({ log }) => (isTest(log) ? <TestResult log={log} t={t} /> : null),
      align: 'end',
      width: 68,
    },
    {
      id: 'completion_tokens',
      head: t('补全'),
      cell: ({ log }) => countText(log.completion_tokens),
      align: 'end',
      width: hasLongWords ? 84 : 68,
    },
    {
      id: 'quota',
      head: t('额度'),
      cell: ({ log }) => quotaCell(log, texts),
      align: 'end',
      width: 88,
    },
    {
      id: 'elapsed_time',
      head: t('用时'),
      cell: ({ log }) => elapsedText(log, t),
      align: 'end',
      width: 64,
      growth: 2,
    },
    {
      id: 'is_stream',
      head: t('流式'),
      cell: ({ log }) => (
        <span className={styles['quiet']}>{log.is_stream === true ? t('是') : ''}</span>
      ),
      width: hasLongWords ? 58 : 46,
      growth: 2,
    },
  ]
}

export function logBlock(texts: LogTexts): (row: LogRow) => Block {
  const { t, isAdmin } = texts
  return (row) => {
    const { log } = row
    const who = [isAdmin ? log.username : '', log.token_name].filter((name) => name !== '')
    const content = contentText(log.content, currentLanguage())
    const isTold = log.model_name === '' || isTest(log)
    return {
      title: (
        <button
          type="button"
          className={styles['openBlock']}
          data-sentence={isTold}
          aria-label={t('查看详情：{{name}}', { name: log.model_name || typeText(log.type, t) })}
          onClick={() => texts.open(row)}
        >
          {(!isTold && log.model_name) || content || typeText(log.type, t)}
        </button>
      ),
      titleEnd: quotaCell(log, texts) || <TypeTag type={log.type} t={t} />,
      // For a call without cost, the title already contains everything except the model.
      line: isTold ? log.model_name || who.join(' / ') : who.join(' / ') || content,
      lineEnd: stampText(log.created_at),
    }
  }
}
