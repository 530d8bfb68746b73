import { namedLanguage } from '../../../contract/errors.ts'
import type { RelayCall, RelayParts } from './call.ts'
import type { Caller, KeyOwner } from '../routing/caller.ts'
import { credentialOf } from './credential.ts'

/**
 * Finds whose call it is by its key. Where the client names no language, errors are from then on in
 * the one in which the token's owner last used the console. Throws the first refusal of the key;
 * `onRefused` is told whose key was refused.
 */
export async function authenticateCall(
  { app, callers }: RelayParts,
  call: RelayCall,
  onRefused?: (owner: KeyOwner) => void,
): Promise<Caller> {
  const speakTo = ({ user }: KeyOwner): void => {
    const named = namedLanguage(call.request.headers['accept-language'])
    if (named === null) call.language = app.languages.of(user.id) ?? call.language
  }
  const address = (): string => app.addressOf(call.request)
  const caller = await callers.authenticate(credentialOf(call), address, (owner) => {
    speakTo(owner)
    onRefused?.(owner)
  })
  speakTo(caller)
  return caller
}
