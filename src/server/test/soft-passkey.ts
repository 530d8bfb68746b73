import { isoCBOR } from '@simplewebauthn/server/helpers'
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import type { Queries } from '../db/database.ts'
import { insertPasskey } from '../passkey/passkey-store.ts'

/** An authenticator in software: a passkey whose key the test holds. */
export interface SoftPasskey {
  id: string
  /** Response to a registration challenge. */
  attest(asked: Asked, over?: Over): object
  /** Response to a sign-in challenge; each counts one up. */
  assert(asked: Asked, over?: Over): object
  /** COSE key. */
  publicKey: Buffer
  counter: number
}

/** Options of the server for the browser. */
export interface Asked {
  options: { publicKey: { challenge: string; rpId?: string; rp?: { id: string } } }
}

/** Members that differ from an honest browser and authenticator. */
interface Over {
  origin?: string
  rpId?: string
  isUserVerified?: boolean
  challenge?: string
  userHandle?: string
}

const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04
const HAS_CREDENTIAL = 0x40
const AAGUID = Buffer.alloc(16)

const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64url')
const hash = (text: Uint8Array | string): Buffer => createHash('sha256').update(text).digest()

function coseKey(publicKey: KeyObject): Buffer {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  // RFC 9053: an EC2 key on P-256, for ES256.
  const members = new Map<number, number | Uint8Array>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, new Uint8Array(Buffer.from(x, 'base64url'))],
    [-3, new Uint8Array(Buffer.from(y, 'base64url'))],
  ])
  return Buffer.from(isoCBOR.encode(members))
}

/** Creates a passkey at the given origin. */
export function softPasskey(origin: string, userId: number): SoftPasskey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credentialId = randomBytes(32)
  const id = base64url(credentialId)
  const cose = coseKey(publicKey)

  function authenticatorData(rpId: string, isUserVerified: boolean, credential: Buffer): Buffer {
    const flags =
      USER_PRESENT |
      (isUserVerified ? USER_VERIFIED : 0) |
      (credential.length > 0 ? HAS_CREDENTIAL : 0)
    const head = Buffer.alloc(5)
    head.writeUInt8(flags, 0)
    head.writeUInt32BE(passkey.counter, 1)
    return Buffer.concat([hash(rpId), head, credential])
  }
  const clientData = (type: string, asked: Asked, over: Over): Buffer =>
    Buffer.from(
      JSON.stringify({
        type,
        challenge: over.challenge ?? asked.options.publicKey.challenge,
        origin: over.origin ?? origin,
        crossOrigin: false,
      }),
    )
  const partyOf = ({ options: { publicKey: asked } }: Asked, over: Over): string =>
    over.rpId ?? asked.rpId ?? asked.rp?.id ?? ''

  const passkey: SoftPasskey = {
    id,
    publicKey: cose,
    counter: 0,
    attest(asked, over = {}) {
      const size = Buffer.alloc(2)
      size.writeUInt16BE(credentialId.length)
      const credential = Buffer.concat([AAGUID, size, credentialId, cose])
      const authData = authenticatorData(
        partyOf(asked, over),
        over.isUserVerified ?? true,
        credential,
      )
      const attestation = new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', new Uint8Array(authData)],
      ])
      return {
        id,
        rawId: id,
        type: 'public-key',
        response: {
          clientDataJSON: base64url(clientData('webauthn.create', asked, over)),
          // The library types CBOR values by name; a map is one.
          attestationObject: base64url(
            isoCBOR.encode(attestation as Parameters<typeof isoCBOR.encode>[0]),
          ),
          transports: ['internal'],
        },
        clientExtensionResults: {},
      }
    },
    assert(asked, over = {}) {
      passkey.counter += 1
      const authData = authenticatorData(
        partyOf(asked, over),
        over.isUserVerified ?? true,
        Buffer.alloc(0),
      )
      const data = clientData('webauthn.get', asked, over)
      const signed = Buffer.concat([authData, hash(data)])
      return {
        id,
        rawId: id,
        type: 'public-key',
        response: {
          clientDataJSON: base64url(data),
          authenticatorData: base64url(authData),
          signature: base64url(sign('sha256', signed, privateKey)),
          userHandle: base64url(over.userHandle ?? String(userId)),
        },
        clientExtensionResults: {},
      }
    },
  }
  return passkey
}

/** Stores a passkey as that of a user, without a registration. */
export async function storePasskey(db: Queries, { id, publicKey }: SoftPasskey, userId: number) {
  await insertPasskey(db, {
    credentialId: id,
    userId,
    name: '',
    publicKey: publicKey.toString('base64url'),
    counter: 0,
    transports: [],
    createdAt: 1,
    usedAt: 0,
  })
}
