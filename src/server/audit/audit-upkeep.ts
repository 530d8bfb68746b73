import type { App } from '../app.ts'
import { SECONDS_PER_DAY } from '../clock.ts'
import type { AuditChain } from './audit-chain.ts'
import { trimChain } from './audit-chain-store.ts'
import { deliverAudit } from './audit-sink.ts'

const DELIVER_MS = 2000
/** Retention runs once in this many rounds. */
const ROUNDS_PER_TRIM = 30
/** Entries deleted in one transaction. */
const TRIM_MAX = 500

/** Sends audit entries to the sink, and deletes those that are too old. Runs in every process. */
export function startAuditUpkeep(app: App): { stop(): Promise<void> } {
  let round = 0
  let isStopping = false
  let running = Promise.resolve()

  async function tend(): Promise<void> {
    if (round % ROUNDS_PER_TRIM === 0) await trimAudit(app, () => isStopping)
    round += 1
    await deliverAudit(app)
  }

  const timer = setInterval(() => {
    if (isStopping) return
    running = running.then(tend).catch((error: unknown) => {
      app.trace.warn({ err: error }, 'audit entries could not be delivered or deleted')
    })
  }, DELIVER_MS)
  timer.unref()
  return {
    async stop() {
      isStopping = true
      clearInterval(timer)
      await running
    },
  }
}

/** Deletes entries beyond their retention. */
export async function trimAudit(
  { database, options, clock }: Pick<App, 'database' | 'options' | 'clock'>,
  isStopping: () => boolean = () => false,
): Promise<void> {
  const days: Record<AuditChain, number> = {
    change: options.number('AuditRetentionDays'),
    refusal: options.number('AuditRefusalRetentionDays'),
  }
  for (const chain of ['change', 'refusal'] as const) {
    if (days[chain] === 0) continue
    const beforeSeconds = clock.nowSeconds() - days[chain] * SECONDS_PER_DAY
    let deleted = TRIM_MAX
    while (deleted === TRIM_MAX && !isStopping()) {
      deleted = await database.write
        .transaction()
        .execute((trx) => trimChain(trx, chain, { beforeSeconds, countMax: TRIM_MAX }))
    }
  }
}
