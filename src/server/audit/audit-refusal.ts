import type { App } from '../app.ts'
import { addressKey } from '../http/client-address.ts'
import { appendToChain } from './audit-chain-store.ts'

/** A failed sign-in or a refused call. */
export interface AuditedRefusal {
  action: 'sign_in.fail' | 'call.refuse'
  /** Account that called, or of the attempted sign-in; null if not known. */
  account: { id: number; username: string } | null
  address: string
  requestId: string
  method: string
  /** Path as declared, without the caller's values. */
  path: string
  code: string
}

/** Key of the limit that all refusals share. */
const ALL = 'all'

/**
 * Records a refusal in the background. The number of entries per hour is limited for each address,
 * for each account and in total, so that no client can fill the table; further refusals are only in
 * the program's output.
 */
export function recordRefusal(app: App, refusal: AuditedRefusal): void {
  const { account, address } = refusal
  app.background.run('users', 'record a refusal', async () => {
    const { auditRefusal, auditRefusals } = app.rateLimits
    if (!(await auditRefusal.take(`address ${addressKey(address)}`))) return
    if (account !== null && !(await auditRefusal.take(`account ${account.id}`))) return
    if (!(await auditRefusals.take(ALL))) return
    const row = contentOf(refusal, app.clock.nowSeconds())
    await app.database.write.transaction().execute((trx) => appendToChain(trx, 'refusal', [row]))
  })
}

function contentOf(
  { action, account, address, requestId, method, path, code }: AuditedRefusal,
  nowSeconds: number,
) {
  const who = { id: account?.id ?? 0, name: account?.username ?? '' }
  const unknown = { id: 0, name: '' }
  // The caller of a sign-in is not known yet: the account is the one that it tried to enter.
  const [actor, target] =
    action === 'sign_in.fail' ? [unknown, who] : [who, { id: 0, name: `${method} ${path}` }]
  return {
    created_at: nowSeconds,
    actor_id: actor.id,
    actor_name: actor.name,
    address,
    request_id: requestId,
    action,
    target_id: target.id,
    target_name: target.name,
    old_values: null,
    new_values: JSON.stringify({ code, path: `${method} ${path}` }),
  }
}
