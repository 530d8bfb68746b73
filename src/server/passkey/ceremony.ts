import {
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type VerifiedRegistrationResponse,
} from '@simplewebauthn/server'
import { isIP } from 'node:net'
import type { PasskeyAssertion, PasskeyAttestation } from '../../contract/passkey-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { ownAddress } from '../http/console-origins.ts'
import type { CallContext } from '../http/handler.ts'
import { clearCookie, readCookie, setCookie } from '../http/own-cookie.ts'
import { systemName } from '../mail/mailer.ts'
import { randomText, sha256 } from '../secrets.ts'
import {
  insertPasskeyChallenge,
  notePasskeyUse,
  takePasskeyChallenge,
  type ChallengePurpose,
  type StoredPasskey,
} from './passkey-store.ts'

/** Challenges and signatures of WebAuthn. */

/** COSE algorithms: Ed25519, ES256, RS256, as the standard recommends. */
export const ALGORITHMS = [-8, -7, -257]

/** Cookie that binds a challenge to the browser. */
const CHALLENGE_COOKIE = 'passkey'
/** Seconds to choose a passkey and to prove oneself to it. */
export const CHALLENGE_LIFE_SECONDS = 180
const CHALLENGE_LENGTH = 43

type Exchange = Pick<CallContext, 'request' | 'reply'>

/** This installation, as passkeys are bound to it. */
export interface RelyingParty {
  /** Host name. */
  id: string
  origin: string
  name: string
}

/** Throws `passkey_address` if browsers offer no passkeys for this address. */
export function relyingParty(app: App, { request }: Pick<Exchange, 'request'>): RelyingParty {
  const { hostname, origin, protocol } = new URL(ownAddress(app, request))
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
  if (isAddress || (protocol !== 'https:' && !isLocal)) {
    throw new AppError('passkey_address', { address: origin })
  }
  return { id: hostname, origin, name: systemName(app) }
}

/** Stores a challenge and sets its cookie. */
export async function startChallenge(
  app: App,
  call: Exchange,
  { challenge, purpose, userId }: { challenge: string; purpose: ChallengePurpose; userId: number },
): Promise<void> {
  const value = randomText(CHALLENGE_LENGTH)
  const nowSeconds = app.clock.nowSeconds()
  await insertPasskeyChallenge(app.database.write, {
    idHash: sha256(value),
    challenge,
    purpose,
    userId,
    expiresAtSeconds: nowSeconds + CHALLENGE_LIFE_SECONDS,
    nowSeconds,
  })
  setCookie(app, call, { name: CHALLENGE_COOKIE, value, maxAge: CHALLENGE_LIFE_SECONDS })
}

/** Uses up the challenge of the browser, whether or not it is met. Throws `passkey_expired`. */
export async function takeChallenge(
  app: App,
  call: Exchange,
  { purpose, userId }: { purpose: ChallengePurpose; userId: number },
): Promise<string> {
  const value = readCookie(app, call.request, CHALLENGE_COOKIE) ?? ''
  const wanted = { idHash: sha256(value), purpose, userId }
  const challenge = await takePasskeyChallenge(app.database.write, wanted, app.clock.nowSeconds())
  if (challenge === undefined) throw new AppError('passkey_expired')
  clearCookie(app, call, CHALLENGE_COOKIE)
  return challenge
}

/** Checks the response to a registration challenge. Throws `passkey_invalid`. */
export async function checkAttestation(
  app: App,
  party: RelyingParty,
  { challenge, body }: { challenge: string; body: PasskeyAttestation },
): Promise<NonNullable<VerifiedRegistrationResponse['registrationInfo']>> {
  const { id, rawId, response } = body
  const { registrationInfo } = await checked(app, () =>
    verifyRegistrationResponse({
      response: {
        id,
        rawId,
        type: 'public-key',
        response: {
          clientDataJSON: response.clientDataJSON,
          attestationObject: response.attestationObject,
        },
        clientExtensionResults: {},
      },
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      supportedAlgorithmIDs: ALGORITHMS,
      // A passkey signs in alone, so it must know its owner.
      requireUserVerification: true,
    }),
  )
  if (registrationInfo === undefined) throw new AppError('passkey_invalid')
  return registrationInfo
}

/**
 * Checks the signature of a passkey, and stores the use with its counter. Throws `passkey_invalid`.
 */
export async function checkAssertion(
  app: App,
  party: RelyingParty,
  {
    challenge,
    body,
    passkey,
  }: { challenge: string; body: PasskeyAssertion; passkey: StoredPasskey | undefined },
): Promise<StoredPasskey> {
  if (passkey === undefined) throw new AppError('passkey_invalid')
  const { id, rawId, response } = body
  const { userHandle } = response
  // Handles are the user's id in decimal, as in New API.
  const isOthers =
    userHandle !== undefined &&
    userHandle !== '' &&
    Buffer.from(userHandle, 'base64url').toString() !== String(passkey.userId)
  if (isOthers) throw new AppError('passkey_invalid')
  const { verified, authenticationInfo } = await checked(app, () =>
    verifyAuthenticationResponse({
      response: {
        id,
        rawId,
        type: 'public-key',
        response: {
          clientDataJSON: response.clientDataJSON,
          authenticatorData: response.authenticatorData,
          signature: response.signature,
        },
        clientExtensionResults: {},
      },
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      credential: {
        id: passkey.credentialId,
        publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
        counter: passkey.counter,
      },
      requireUserVerification: true,
    }),
  )
  const use = {
    counter: authenticationInfo.newCounter,
    nowSeconds: app.clock.nowSeconds(),
  }
  if (!verified || !(await notePasskeyUse(app.database.write, passkey, use))) {
    throw new AppError('passkey_invalid')
  }
  return passkey
}

/** Runs a check of the library, which throws for everything that does not fit. */
async function checked<T>(app: App, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    app.trace.warn({ cause: String(error) }, 'a passkey was rejected')
    throw new AppError('passkey_invalid', {}, error)
  }
}
