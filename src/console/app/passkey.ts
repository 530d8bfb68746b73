import type { SignedIn } from '../../contract/user-api.ts'
import { CallFailure } from './call-client.ts'
import { call } from './call.ts'
import { t } from './i18n.ts'

/** Passkeys in the browser. The library is loaded with the first use. */
const library = () => import('@simplewebauthn/browser')

/**
 * Whether the browser can use passkeys at this address: they are bound to a domain name, and need
 * HTTPS except on localhost.
 */
export const hasPasskeys = (): boolean =>
  window.isSecureContext &&
  'PublicKeyCredential' in window &&
  !/^[\d.]+$|^\[/.test(window.location.hostname)

/** Turns a failure of the browser into one that forms can show. */
async function ceremony<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const name = error instanceof Error ? error.name : ''
    const message =
      name === 'InvalidStateError'
        ? t('这台设备上已有该账户的通行密钥')
        : t('浏览器没有完成通行密钥操作，请重试或改用其他方式')
    throw new CallFailure(message, { status: 0, refused: true })
  }
}

/** Options of the server, in the JSON form of the standard. */
interface Asked {
  options: { publicKey: Record<string, unknown> }
}

/** Lets the browser sign the server's challenge with a passkey. */
async function assertion({ options: { publicKey } }: Asked) {
  const { startAuthentication } = await library()
  // The server's options are those of the standard.
  const optionsJSON = publicKey as unknown as Parameters<
    typeof startAuthentication
  >[0]['optionsJSON']
  const { id, rawId, response } = await ceremony(() => startAuthentication({ optionsJSON }))
  const { clientDataJSON, authenticatorData, signature, userHandle } = response
  return { id, rawId, response: { clientDataJSON, authenticatorData, signature, userHandle } }
}

/** Signs in with a passkey that the user chooses. */
export async function signInWithPasskey(): Promise<SignedIn> {
  const asked = await call('POST /api/user/passkey/login/begin', {}, { quiet: true })
  const body = await assertion(asked)
  return call('POST /api/user/passkey/login/finish', { body }, { quiet: true })
}

/** Proves by a passkey who is at the console. */
export async function proveByPasskey(): Promise<void> {
  const asked = await call('POST /api/user/passkey/verify/begin', {}, { quiet: true })
  const body = await assertion(asked)
  await call('POST /api/user/passkey/verify/finish', { body }, { quiet: true })
}

/** Adds a passkey to the account. */
export async function addPasskey(name: string): Promise<void> {
  const { startRegistration } = await library()
  const { options } = await call('POST /api/user/passkey/register/begin', {}, { quiet: true })
  // The server's options are those of the standard.
  const optionsJSON = options.publicKey as unknown as Parameters<
    typeof startRegistration
  >[0]['optionsJSON']
  const { id, rawId, response } = await ceremony(() => startRegistration({ optionsJSON }))
  const { clientDataJSON, attestationObject, transports } = response
  const body = { id, rawId, response: { clientDataJSON, attestationObject, transports }, name }
  await call('POST /api/user/passkey/register/finish', { body }, { quiet: true })
}
