import { AppError } from '../app-error.ts'
import type { Clock } from '../clock.ts'
import type { Actor } from './handler.ts'

/** Seconds for which a proof of identity is valid. */
const PROOF_LIFE_SECONDS = 300

/**
 * Throws `proof_required` if the caller's session has no recent proof of identity. Callers with a
 * system access token pass: scripts cannot answer a dialog, and cannot change how the account signs
 * in.
 */
export function requireProof({ clock }: { clock: Clock }, actor: Actor): void {
  if (actor.sessionHash === '') return
  const ageSeconds = clock.nowSeconds() - actor.verifiedAtSeconds
  if (ageSeconds > PROOF_LIFE_SECONDS) throw new AppError('proof_required')
}
