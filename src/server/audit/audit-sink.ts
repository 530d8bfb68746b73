import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import os from 'node:os'
import type { App } from '../app.ts'
import { moveSetting, readSetting } from '../db/setting-store.ts'
import { callHttp } from '../egress/http-call.ts'
import { answeredAudit } from './answered-audit.ts'
import type { AuditChain } from './audit-chain.ts'
import { auditAfter } from './audit-chain-store.ts'
import { auditSinkOf, type AuditSink } from './audit-sink-address.ts'
import type { StoredAudit } from './audit-store.ts'
import { framedForTcp, syslogMessage } from './syslog.ts'

/** Entries of one delivery. */
const BATCH_MAX = 100
/** Deliveries of one run. */
const BATCHES_MAX = 50
const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 64 * 1024
/** Seconds for which one process alone delivers, and after which a failed delivery is repeated. */
const CLAIM_SECONDS = 60

/** Setting with the time until which a process delivers, and the process. */
const CLAIM = 'audit_sink_claimed_until'
const cursorOf = (chain: AuditChain): string => `audit_sink_sent_${chain}`

type Parts = Pick<App, 'database' | 'options' | 'clock' | 'egress' | 'node'>

/**
 * Sends new audit entries to the sink of the options, from a position that is stored after each
 * delivery, so that every entry arrives at least once. One process at a time delivers. Throws if
 * the sink does not accept them; the next run after the claim repeats it.
 */
export async function deliverAudit(app: Parts): Promise<void> {
  const sink = auditSinkOf(app.options.text('AuditSink'))
  if (sink === null) return
  const claimed = await claim(app)
  if (claimed === null) return
  for (const chain of ['change', 'refusal'] as const) {
    for (let count = 0; count < BATCHES_MAX; count += 1) {
      if (!(await deliverBatch(app, sink, chain))) break
    }
  }
  await moveSetting(app.database.write, CLAIM, { from: claimed, to: '0' })
}

/**
 * Returns the stored claim, or null if another process delivers or has failed to less than a minute
 * ago.
 */
async function claim({ database, clock, node }: Parts): Promise<string | null> {
  const nowSeconds = clock.nowSeconds()
  const from = await readSetting(database.read, CLAIM)
  const leftSeconds = from === null ? 0 : Number.parseInt(from, 10) - nowSeconds
  // A claim for longer comes from a clock that was ahead.
  if (leftSeconds > 0 && leftSeconds <= CLAIM_SECONDS) return null
  const to = `${nowSeconds + CLAIM_SECONDS} ${node}`
  return (await moveSetting(database.write, CLAIM, { from, to })) ? to : null
}

/** Returns whether there may be more. */
async function deliverBatch(app: Parts, sink: AuditSink, chain: AuditChain): Promise<boolean> {
  const { database } = app
  const from = await readSetting(database.read, cursorOf(chain))
  const after = Number(from ?? 0)
  const rows = await auditAfter(database.heavy, chain, { after, countMax: BATCH_MAX })
  const last = rows.at(-1)
  if (last === undefined) return false
  await (sink.kind === 'webhook' ? postTo(app, sink.url, rows) : logTo(app, sink, rows))
  await moveSetting(database.write, cursorOf(chain), { from, to: String(last.id) })
  return rows.length === BATCH_MAX
}

/**
 * Posts entries as JSON, signed as in the Standard Webhooks specification 1.0: an HMAC-SHA-256 of
 * id, time and body. The id is the same when the delivery is repeated.
 */
async function postTo(app: Parts, url: string, rows: readonly StoredAudit[]): Promise<void> {
  const body = JSON.stringify({ type: 'audit', entries: rows.map(answeredAudit) })
  const id = `audit_${rows[0]?.id}_${rows.at(-1)?.id}`
  const time = String(app.clock.nowSeconds())
  const secret = app.options.text('AuditSinkSecret')
  const answer = await callHttp(app.egress, {
    url,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'gatehouse',
      'webhook-id': id,
      'webhook-timestamp': time,
      ...(secret === ''
        ? {}
        : { 'webhook-signature': signatureOf(secret, `${id}.${time}.${body}`) }),
    },
    body,
    timeoutMs: TIMEOUT_MS,
    bytesMax: ANSWER_BYTES_MAX,
  })
  if (answer.status < 200 || answer.status > 299) {
    throw new Error(`the audit webhook answered with status ${answer.status}`)
  }
}

const SECRET_PREFIX = 'whsec_'

const signatureOf = (secret: string, content: string): string => {
  const key = secret.startsWith(SECRET_PREFIX)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    : Buffer.from(secret)
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

/** Sends entries to a syslog server, which does not confirm what it received. */
async function logTo(
  { egress }: Parts,
  { transport, host, port }: Extract<AuditSink, { kind: 'syslog' }>,
  rows: readonly StoredAudit[],
): Promise<void> {
  const messages = rows.map((row) =>
    syslogMessage(answeredAudit(row), {
      host: os.hostname(),
      isRefusal: row.chain === 'refusal',
    }),
  )
  if (transport === 'udp') return egress.sendDatagrams({ host, port }, messages)
  const socket = await egress.connect({ host, port })
  try {
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('the syslog server is silent')))
    const closed = once(socket, 'close')
    socket.end(Buffer.concat(messages.map(framedForTcp)))
    socket.resume()
    await closed
  } finally {
    socket.destroy()
  }
}
