/** Where audit entries are sent: a webhook, or a syslog server. */
export type AuditSink =
  | { kind: 'webhook'; url: string }
  | { kind: 'syslog'; transport: 'udp' | 'tcp'; host: string; port: number }

const SYSLOG = /^syslog\+(udp|tcp):\/\/(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?\/?$/i
/** Port of syslog over UDP (RFC 5426) and, by custom, over TCP. */
const SYSLOG_PORT = 514
const PORT_MAX = 65_535

/** Reads the option `AuditSink`. Returns null if it is empty or invalid. */
export function auditSinkOf(text: string): AuditSink | null {
  const [, transport, host = '', port = String(SYSLOG_PORT)] = SYSLOG.exec(text) ?? []
  if (transport === undefined) {
    const isWeb = /^https?:\/\/[^/\\?#]/i.test(text) && !/[\s\\]/.test(text) && URL.canParse(text)
    if (!isWeb) return null
    const { username, password, href } = new URL(text)
    return username === '' && password === '' ? { kind: 'webhook', url: href } : null
  }
  const number = Number(port)
  return number > 0 && number <= PORT_MAX
    ? {
        kind: 'syslog',
        transport: transport.toLowerCase() === 'udp' ? 'udp' : 'tcp',
        host: host.replace(/^\[(.*)\]$/, '$1'),
        port: number,
      }
    : null
}
