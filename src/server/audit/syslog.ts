/** Messages of RFC 5424, one for each audit entry. */

/** Facility 13, "log audit". */
const FACILITY = 13
const SEVERITY = { notice: 5, warning: 4 } as const
/** Bytes of one message; receivers must accept 2,048 and usually accept 8,192. */
const MESSAGE_BYTES_MAX = 8192

export interface SyslogEntry {
  created_at: number
  action: string
  before: unknown
  after: unknown
}

/** Printable ASCII without spaces, as the header requires; `-` if nothing is left. */
const headerText = (text: string, max: number): string =>
  text.replace(/[^\x21-\x7e]/g, '').slice(0, max) || '-'

/** Returns the message of an entry. One that is too long goes without the values. */
export function syslogMessage(
  entry: SyslogEntry,
  { host, isRefusal }: { host: string; isRefusal: boolean },
): Buffer {
  const priority = FACILITY * 8 + (isRefusal ? SEVERITY.warning : SEVERITY.notice)
  const time = new Date(entry.created_at * 1000).toISOString()
  const action = headerText(entry.action, 32)
  const head = `<${priority}>1 ${time} ${headerText(host, 255)} gatehouse ${process.pid} ${action} - `
  const whole = Buffer.from(head + JSON.stringify(entry))
  return whole.length <= MESSAGE_BYTES_MAX
    ? whole
    : Buffer.from(head + JSON.stringify({ ...entry, before: null, after: null, is_cut: true }))
}

/** Frames a message for TCP by its length (RFC 6587, 3.4.1). */
export const framedForTcp = (message: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${message.length} `), message])
