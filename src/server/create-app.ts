import { randomBytes } from 'node:crypto'
import path from 'node:path'
import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import type { App } from './app.ts'
import { createBackground } from './background.ts'
import {
  createFirstRoot,
  replaceDefaultPassword,
  sessionSecret,
  type NewRoot,
} from './bootstrap.ts'
import { systemClock, type Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Database } from './db/database.ts'
import { createEgress } from './egress/egress.ts'
import {
  clientAddress,
  isHttps,
  isTrustedProxy,
  parseTrustedProxies,
  type TrustedProxies,
} from './http/client-address.ts'
import { createProxyWatch } from './http/ignored-proxy.ts'
import { createRateLimits } from './http/rate-limit.ts'
import { createSessions } from './http/sessions.ts'
import { TIME_LIMITS, type TimeLimits } from './http/time-limits.ts'
import { createLedger } from './ledger/ledger.ts'
import { openLogStorage } from './log/storage/open-log-storage.ts'
import { createLiveModels } from './model/live-models.ts'
import { createLiveOptions } from './option/live-options.ts'
import { tokenHashSecret } from './token/token-key-store.ts'
import { tokenKeys } from './token/token-key.ts'
import { createPasswords, PASSWORD_COST } from './user/password.ts'
import { createUserLanguages } from './user/user-languages.ts'
import { packageVersion } from './version.ts'

export interface ServerSettings {
  config: Config
  database: Database
  trace: Logger
  clock?: Clock
  /** Environment variables whose settings are saved in daily backups. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Work factor of new password hashes; tests use a cheap one. */
  passwordCost?: number
  /** Folder of the built console. */
  consoleFolder?: string
  /** Folder of the built manual. */
  manualFolder?: string
  /** Tests use shorter times than the default. */
  timeLimits?: Partial<TimeLimits>
}

/** The shared parts of a new server, and what only its start needs. */
interface CreatedApp {
  app: App
  trusted: TrustedProxies
  /** The log's own store; null if log rows stay in the database. */
  remote: ReturnType<typeof openLogStorage>['remote']
  /** Set if this start has created `root` or changed its password. */
  newRoot: Promise<NewRoot | null>
}

const MANUAL_FOLDER = path.join(import.meta.dirname, '../../dist/manual')

/** Creates the shared parts of a server, and `root` in an empty database. */
export async function createApp(settings: ServerSettings): Promise<CreatedApp> {
  const { config, database, trace, clock = systemClock } = settings
  const passwords = createPasswords(settings.passwordCost ?? PASSWORD_COST)
  const firstRoot = await createFirstRoot(config, { database, passwords, clock })
  // The comparison takes a quarter of a second, in parallel with the rest of the startup.
  const newRoot = Promise.resolve(
    firstRoot ?? replaceDefaultPassword(config, { database, passwords }),
  )
  // If startup cannot close calls of an earlier process, this is the only output meanwhile.
  const ledger = createLedger(database, (error) => {
    trace.warn({ err: error }, 'calls cannot be closed; retrying until the database accepts them')
  })
  const trusted = parseTrustedProxies(config.TRUSTED_PROXIES)
  const options = await createLiveOptions(database, { Theme: config.THEME })
  const background = createBackground(trace)
  const { logs, remote } = openLogStorage(config, { database, clock })
  const app: App = {
    config,
    database,
    logs,
    ledger,
    options,
    models: await createLiveModels(database, options),
    tokenKeys: tokenKeys(await tokenHashSecret(database.write), () =>
      options.flag('TokensShownOnce'),
    ),
    sessions: createSessions({
      database,
      clock,
      secret: await sessionSecret(config, database),
      idleSeconds: () => options.number('SessionIdleMinutes') * 60,
    }),
    passwords,
    rateLimits: await createRateLimits({
      api: config.GLOBAL_API_RATE_LIMIT,
      web: config.GLOBAL_WEB_RATE_LIMIT,
      critical: config.CRITICAL_RATE_LIMIT,
      pool: database.pool,
    }),
    background,
    languages: await createUserLanguages({ database, background }),
    egress: createEgress({ allowPrivate: config.EGRESS_ALLOW_PRIVATE }),
    timeLimits: { ...TIME_LIMITS, ...settings.timeLimits },
    clock,
    trace,
    version: `v${packageVersion()}`,
    startSeconds: clock.nowSeconds(),
    manualFolder: settings.manualFolder ?? MANUAL_FOLDER,
    node: randomBytes(6).toString('hex'),
    addressOf: (request) =>
      clientAddress(request.socket.remoteAddress, header(request, 'x-forwarded-for'), trusted),
    isSecure: (request) => {
      const throughProxy = isTrustedProxy(request.socket.remoteAddress, trusted)
      return throughProxy && isHttps(header(request, 'x-forwarded-proto'))
    },
    ownOrigins: new Set(config.CONSOLE_ORIGINS),
    proxyWatch: createProxyWatch({ config, trusted, trace }),
  }
  return { app, trusted, remote, newRoot }
}

const header = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(',') : value
}
