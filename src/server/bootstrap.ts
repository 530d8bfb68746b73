import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { NEVER_EXPIRES } from '../contract/token.ts'
import { DEFAULT_PASSWORD, Role, ROOT_USERNAME } from '../contract/user.ts'
import { replaceWireToken } from './access-token/access-token-store.ts'
import type { Clock } from './clock.ts'
import { ConfigError, type Config } from './config.ts'
import type { Database, Queries } from './db/database.ts'
import { readOrCreateSetting } from './db/setting-store.ts'
import { isLoopbackUrl, listensOnLoopback } from './http/host-check.ts'
import { creditUser, openToken } from './ledger/balances.ts'
import { loadOptions } from './option/option-store.ts'
import { randomText, sha256 } from './secrets.ts'
import { insertToken } from './token/token-store.ts'
import type { Passwords } from './user/password.ts'
import { deleteSessionsOf } from './user/session-store.ts'
import {
  countUsers,
  findFirstRoot,
  insertUser,
  lockAdministration,
  updateUser,
} from './user/user-store.ts'

/** Initial points of root, as in One API. */
const ROOT_QUOTA = 500_000_000_000_000

/**
 * Returns the secret that signs cookies: the configured one, or one generated once and shared by
 * all processes on the same data.
 */
export async function sessionSecret(config: Config, database: Database): Promise<string> {
  if (config.SESSION_SECRET !== undefined) return config.SESSION_SECRET
  const fresh = randomBytes(32).toString('hex')
  if (database.engine === 'postgres') {
    return readOrCreateSetting(database.write, 'session_secret', fresh)
  }
  const file = path.join(config.DATA_DIR, 'session-secret')
  fs.mkdirSync(config.DATA_DIR, { recursive: true, mode: 0o700 })
  try {
    // `wx`, because two processes that start together must not each write their own.
    fs.writeFileSync(file, fresh, { flag: 'wx', mode: 0o600 })
    return fresh
  } catch {
    return fs.readFileSync(file, 'utf8').trim()
  }
}

/** The `root` user that a start created or changed, for its caller. */
export interface NewRoot {
  isFirst: boolean
  /** Printed once; null if the operator has set it or it is the default that must be changed. */
  password: string | null
}

const PASSWORD_LENGTH = 20

const INITIAL_FORMS = [
  ['INITIAL_ROOT_TOKEN', /^[0-9A-Za-z]{32,48}$/, '32 to 48 letters and digits'],
  ['INITIAL_ROOT_ACCESS_TOKEN', /^[0-9A-Za-z]{32}$/, '32 letters and digits'],
] as const

function refuseOddInitials(config: Config): void {
  for (const [name, form, wants] of INITIAL_FORMS) {
    const given = config[name]
    if (given !== undefined && !form.test(given)) {
      throw new ConfigError(`${name}: got a value, expected ${wants}`)
    }
  }
}

/**
 * Whether the settings make the server reachable from other machines: an address that is not
 * loopback, a proxy, or a public address of the server or of a console. A proxy on this machine
 * that is in no setting is recognized per request at sign-in (`isDirect`).
 */
async function isReachableFromOutside(config: Config, database: Database): Promise<boolean> {
  if (!listensOnLoopback(config) || config.TRUSTED_PROXIES.length > 0) return true
  const serverAddress = (await loadOptions(database.read)).get('ServerAddress') ?? ''
  const addresses = [serverAddress, ...config.CONSOLE_ORIGINS].filter((text) => text !== '')
  return !addresses.every(isLoopbackUrl)
}

/**
 * Creates `root` in an empty database; returns null if there are users. Root gets the well-known
 * default password only if no setting makes the server reachable from other machines, and a session
 * with it may only change it. Otherwise root gets a random password. Throws `ConfigError` if
 * `INITIAL_ROOT_TOKEN` or `INITIAL_ROOT_ACCESS_TOKEN` is malformed.
 */
export async function createFirstRoot(
  config: Config,
  { database, passwords, clock }: { database: Database; passwords: Passwords; clock: Clock },
): Promise<NewRoot | null> {
  if ((await countUsers(database.read)) > 0) return null
  refuseOddInitials(config)
  const isReachable = await isReachableFromOutside(config, database)
  const generated = isReachable ? randomText(PASSWORD_LENGTH) : null
  const password = config.INITIAL_ROOT_PASSWORD ?? generated ?? DEFAULT_PASSWORD
  const passwordHash = await passwords.hash(password)
  const isMade = await database.write.transaction().execute(async (trx) => {
    await lockAdministration(trx)
    // Another process has just created it.
    if ((await countUsers(trx)) > 0) return false
    await insertRoot(trx, config, { passwordHash, nowSeconds: clock.nowSeconds() })
    return true
  })
  if (!isMade) return null
  return { isFirst: true, password: config.INITIAL_ROOT_PASSWORD === undefined ? generated : null }
}

async function insertRoot(
  trx: Queries,
  config: Config,
  { passwordHash, nowSeconds }: { passwordHash: string; nowSeconds: number },
): Promise<void> {
  const id = await insertUser(trx, {
    username: ROOT_USERNAME,
    passwordHash,
    display_name: 'Root User',
    role: Role.root,
    aff_code: '',
  })
  if (id === null) throw new Error('the name root is taken in a database without users')
  await creditUser(trx, {
    userId: id,
    amount: ROOT_QUOTA,
    kind: 'opening',
    nowSeconds,
    detail: JSON.stringify({ reason: 'first start' }),
  })
  if (config.INITIAL_ROOT_ACCESS_TOKEN !== undefined) {
    const tokenHash = sha256(config.INITIAL_ROOT_ACCESS_TOKEN)
    await replaceWireToken(trx, { userId: id, tokenHash, nowSeconds })
  }
  if (config.INITIAL_ROOT_TOKEN !== undefined) {
    const token = await insertToken(trx, {
      user_id: id,
      key: config.INITIAL_ROOT_TOKEN,
      name: 'Initial Root Token',
      created_time: nowSeconds,
      expired_time: NEVER_EXPIRES,
      remain_quota: ROOT_QUOTA,
      unlimited_quota: true,
      models: '',
      subnet: '',
    })
    await openToken(trx, { tokenId: token.id, userId: id, quota: ROOT_QUOTA, nowSeconds })
  }
}

/**
 * Replaces root's default password with a random one if the settings make the server reachable from
 * other machines. Returns null if nothing was replaced.
 */
export async function replaceDefaultPassword(
  config: Config,
  { database, passwords }: { database: Database; passwords: Passwords },
): Promise<NewRoot | null> {
  if (!(await isReachableFromOutside(config, database))) return null
  const root = await findFirstRoot(database.read)
  if (root === undefined || !(await passwords.verify(DEFAULT_PASSWORD, root.password))) return null
  const password = randomText(PASSWORD_LENGTH)
  const passwordHash = await passwords.hash(password)
  await database.write.transaction().execute(async (trx) => {
    await updateUser(trx, root.id, { password: passwordHash })
    await deleteSessionsOf(trx, root.id)
  })
  await database.announce(`user:${root.id}`)
  return { isFirst: false, password }
}
