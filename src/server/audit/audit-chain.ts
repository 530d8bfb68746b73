import type { Selectable } from 'kysely'
import type { AuditRow } from '../db/schema.ts'
import { sha256 } from '../secrets.ts'

/**
 * Entries of a chain carry the hash of the one before. `refusal` has failed sign-ins and refused
 * calls, which are kept for another time than changes: retention deletes at the oldest end only.
 */
export type AuditChain = 'change' | 'refusal'

/** The parts of an entry that its hash covers. */
export type AuditContent = Omit<Selectable<AuditRow>, 'id' | 'chain' | 'prev_hash' | 'hash'>

/** Returns the hash of an entry. */
export const auditHash = (previous: string, row: AuditContent): string =>
  sha256(
    JSON.stringify([
      previous,
      row.created_at,
      row.actor_id,
      row.actor_name,
      row.address,
      row.request_id,
      row.action,
      row.target_id,
      row.target_name,
      row.old_values,
      row.new_values,
    ]),
  )

export type ChainedAudit = AuditContent & {
  id: number
  prev_hash: string | null
  hash: string | null
}

/** Checks the entries of a chain, oldest first, and says where it is broken. */
export class ChainCheck {
  readonly problems: string[] = []
  /** Number of checked entries with a hash. */
  count = 0
  private expected: string
  private before = ''

  constructor(anchor: string) {
    this.expected = anchor
  }

  add(row: ChainedAudit): void {
    const name = `audit entry ${row.id} (${row.action}, actor ${row.actor_id})`
    if (row.prev_hash === null || row.hash === null) {
      // Earlier versions wrote the entries before the first hash.
      if (this.count > 0) {
        this.problems.push(
          `${name} has no hash: it was added past Gatehouse, or by an earlier version that ran beside this one`,
        )
      }
      return
    }
    if (row.prev_hash !== this.expected) {
      this.problems.push(
        `the audit chain breaks before entry ${row.id}: entries ${this.before === '' ? `before ${row.id}` : `between ${this.before} and ${row.id}`} were removed or replaced`,
      )
    }
    if (auditHash(row.prev_hash, row) !== row.hash) {
      this.problems.push(`${name} was changed: its hash does not fit its content`)
    }
    this.expected = row.hash
    this.before = String(row.id)
    this.count += 1
  }

  /** Compares the end with the stored one. */
  end(head: string): void {
    if (this.expected === head) return
    this.problems.push(
      this.before === ''
        ? 'the audit entries are missing: the chain has none, although some were written'
        : `the audit chain breaks after entry ${this.before}: later entries were removed`,
    )
  }
}
