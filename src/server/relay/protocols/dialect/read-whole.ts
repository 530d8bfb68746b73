import type { UsedExtras } from '../../../ledger/price/price-lines.ts'
import type { ChatEvent } from '../canonical/chat-answer.ts'
import { NO_USAGE, type UsageReading } from '../canonical/token-usage.ts'
import { appendAll, isRecord, parseJson, type JsonRecord } from '../../json/json-value.ts'
import type { AnswerReading, StreamReader } from './dialect.ts'

/**
 * Reads a whole answer with the stream reader of its protocol. `eventsOf`: splits the answer into
 * events; absent: the answer is a single event.
 */
export function readWhole(
  bytes: Buffer,
  reader: StreamReader,
  eventsOf: (answer: JsonRecord) => readonly JsonRecord[] = (answer) => [answer],
): AnswerReading {
  const answer = parseJson(bytes.toString('utf8'))
  if (!isRecord(answer)) return { kind: 'malformed' }
  let id = ''
  let usage: UsageReading = NO_USAGE
  let extras: UsedExtras | undefined
  const said: ChatEvent[] = []
  for (const event of eventsOf(answer)) {
    const report = reader.read(event)
    if (report.error !== undefined) return { kind: 'error', error: report.error }
    if (report.kind === 'malformed') return { kind: 'malformed' }
    id ||= report.id ?? ''
    usage = report.usage ?? usage
    extras = report.extras ?? extras
    appendAll(said, report.events ?? [])
  }
  const events: ChatEvent[] = [{ kind: 'start', id }, ...said, ...(reader.end?.() ?? [])]
  return { kind: 'ok', usage, ...(extras === undefined ? {} : { extras }), events: () => events }
}
