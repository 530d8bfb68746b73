import net from 'node:net'
import os from 'node:os'
import { z } from 'zod'
import { RELAY_PREFIXES } from '../contract/relay-paths.ts'
import { length, withoutTrailing } from '../contract/text.ts'
import { PASSWORD_BYTES_MAX, PASSWORD_LENGTH_MIN } from '../contract/user.ts'
import { addressesIn, addressTrouble } from './db/postgres-address.ts'
import { isMisspelling } from './misspelling.ts'

/**
 * Settings of the process: the environment and a `.env` file in the working directory (existing
 * variables take precedence). `gatehouse.js` reads the environment and passes it in. The table of
 * `docs/manual/en/settings.md` is generated from `settings`.
 */

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({ wants: `a whole number from ${min} to ${max}` })

const flag = z
  .string()
  .transform((text) => text.toLowerCase())
  .pipe(z.enum(['true', 'false', '1', '0']))
  .transform((text) => text === 'true' || text === '1')
  .meta({ wants: 'true or false' })

const text = z.string().meta({ wants: 'a text' })

const url = z
  .url({ protocol: /^https?$/ })
  .transform((address) => withoutTrailing(address, '/'))
  .meta({ wants: 'an address that starts with http:// or https://' })

const oneOf = <const T extends readonly string[]>(names: T) =>
  z.enum(names).meta({ wants: `one of ${names.join(', ')}` })

const commaSeparated = z
  .string()
  .transform((list) =>
    list
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  )
  .meta({ wants: 'a comma list' })

/** Pairs as OpenTelemetry writes them: `name=value,name=value`, values percent-encoded. */
const pairs = z
  .string()
  .transform((list, context) => {
    const parsed = pairsIn(list)
    if (parsed === null) context.addIssue({ code: 'custom' })
    return parsed ?? {}
  })
  .meta({ wants: 'a comma list of name=value, with special characters percent-encoded' })

function pairsIn(list: string): Record<string, string> | null {
  const parsed: Record<string, string> = {}
  for (const item of list.split(',')) {
    if (item.trim() === '') continue
    const sign = item.indexOf('=')
    if (sign < 1) return null
    try {
      parsed[item.slice(0, sign).trim()] = decodeURIComponent(item.slice(sign + 1).trim())
    } catch {
      return null
    }
  }
  return parsed
}

interface Setting<S extends z.ZodType = z.ZodType> {
  schema: S
  /** As in the environment; `undefined` without a default. */
  default?: string
  /** Description in `docs/manual/en/settings.md`. */
  meaning: string
}

function setting<S extends z.ZodType>(schema: S, meaning: string): { schema: S; meaning: string }
function setting<S extends z.ZodType>(
  schema: S,
  meaning: string,
  otherwise: string,
): { schema: S; meaning: string; default: string }
function setting(schema: z.ZodType, meaning: string, otherwise?: string): Setting {
  return { schema, meaning, ...(otherwise === undefined ? {} : { default: otherwise }) }
}

const ROLES = ['10', '100'] as const

/** Requires the full form, because programs read short forms such as `10.1` differently. */
function isNetwork(item: string): boolean {
  const [address = '', bits, ...rest] = item.split('/')
  const family = net.isIP(address)
  const bitsMax = family === 4 ? 32 : 128
  const isPrefix = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax)
  return family !== 0 && isPrefix && rest.length === 0
}

/** Whether a base would hide paths of the server itself or leads elsewhere. */
const isNoBase = (base: string): boolean =>
  ['/api', ...RELAY_PREFIXES].some((taken) => base === `${taken}/`) || /\/\.{1,2}\//.test(base)

export const settings = {
  PORT: setting(wholeNumber(0, 65535), 'port to listen on; 0 picks a free one', '3000'),
  HOST: setting(
    // Accepts brackets as in URLs; sockets take the host without them.
    text.transform((host) => host.replace(/^\[(.*)\]$/, '$1')),
    'address to listen on',
    '127.0.0.1',
  ),
  DATA_DIR: setting(text, 'folder of the database file and of generated secrets', './data'),
  SQLITE_PATH: setting(
    z
      .string()
      .regex(/^(?!file:|:memory:)/)
      .meta({ wants: 'the path of a file' }),
    'database file; a One API database is copied and adopted (default: `gatehouse.db` in `DATA_DIR`, ' +
      'or `one-api.db` if only that exists)',
  ),
  SQL_DSN: setting(
    text,
    '`postgres://user:password@host:port/name`: PostgreSQL instead of SQLite; several hosts with commas ' +
      'between them for failover',
  ),
  SQL_READ_DSN: setting(
    text,
    'the same for one streaming replica, from which dashboards, lists, sums and exports are read',
  ),
  SQL_READ_LAG: setting(
    wholeNumber(1, 3600),
    'seconds that the replica may be behind; beyond, reads go to `SQL_DSN`',
    '10',
  ),
  LOG_DSN: setting(
    z
      .string()
      .regex(/^(postgres(ql)?|https?):\/\//)
      .meta({
        wants:
          'postgres://user:password@host:port/name, or the HTTP address of ClickHouse, ' +
          'http://user:password@host:8123/name',
      }),
    'store for log rows, captured texts and traces beside the database: ' +
      '`postgres://user:password@host:port/name`, or ClickHouse as ' +
      '`http://user:password@host:8123/name` (default: in the database)',
  ),
  LOG_OUTBOX_MAX: setting(
    wholeNumber(1000, 1e9),
    'captured texts, and as many traces, that wait in the database while the store of `LOG_DSN` is ' +
      'away; the oldest are dropped, log rows never',
    '500000',
  ),
  SQLITE_SYNCHRONOUS: setting(
    oneOf(['FULL', 'NORMAL']),
    '`FULL` survives a power failure, `NORMAL` only a crash of the process',
    'FULL',
  ),
  WORKERS: setting(
    z
      .string()
      .regex(/^(?:auto|[1-9]\d?)$/)
      .transform((count) => (count === 'auto' ? ('auto' as const) : Number(count)))
      .meta({ wants: 'a whole number from 1 to 99, or auto' }),
    'server processes on this machine, which share the port; `auto` starts one per processor; more ' +
      'than one needs PostgreSQL',
    '1',
  ),
  BACKUP_DIR: setting(
    text,
    'folder that `gatehouse backup` and daily backups write to (default `$DATA_DIR/backups`)',
  ),
  BACKUP_KEEP: setting(
    wholeNumber(0, 1000),
    'daily backups to keep: the server makes one a day and deletes the oldest; 0 makes none; SQLite only',
    '0',
  ),
  SESSION_SECRET: setting(
    z.string().min(16).meta({ wants: 'at least 16 characters; if it is unset, one is generated' }),
    'signs cookies (generated once and kept with the data)',
  ),
  SECRETS_KEY: setting(
    text,
    'keys for stored secrets, separated by commas, each 64 hexadecimal digits; ' +
      '`gatehouse encrypt-secrets` encrypts with the first one; not in backups',
  ),
  SECRETS_KEY_FILE: setting(
    text,
    'file with these keys instead, one per line; a line that begins with `#` is a comment',
  ),
  INITIAL_ROOT_PASSWORD: setting(
    z
      .string()
      .refine((password) => length(password) >= PASSWORD_LENGTH_MIN)
      .refine((password) => Buffer.byteLength(password) <= PASSWORD_BYTES_MAX)
      .meta({ wants: `${PASSWORD_LENGTH_MIN} characters to ${PASSWORD_BYTES_MAX} bytes` }),
    'password of `root` in an empty database',
  ),
  // Validated when root is created, because afterwards they remain set without effect.
  INITIAL_ROOT_TOKEN: setting(text, 'key of a first token of `root` in an empty database'),
  INITIAL_ROOT_ACCESS_TOKEN: setting(text, 'system access token of `root` in an empty database'),
  OPTIONS_MIN_ROLE: setting(
    z.enum(ROLES).transform(Number).meta({ wants: '10 or 100' }),
    'role that may read and change settings: 10 admins, 100 root only',
    '10',
  ),
  TRUSTED_PROXIES: setting(
    commaSeparated
      .refine((list) => list.every(isNetwork))
      .meta({ wants: 'a comma list of addresses or CIDR blocks' }),
    'comma list of addresses or CIDR blocks whose `X-Forwarded-For` counts',
    '',
  ),
  HSTS_MAX_AGE: setting(
    wholeNumber(0, 100_000_000),
    'seconds for which browsers that connected with TLS, through a trusted proxy, only use TLS for this ' +
      'host name (`Strict-Transport-Security`); 0 revokes it',
    '31536000',
  ),
  GLOBAL_API_RATE_LIMIT: setting(
    wholeNumber(0, 1e9),
    'management calls per address and 3 minutes; 0 is off',
    '480',
  ),
  GLOBAL_WEB_RATE_LIMIT: setting(
    wholeNumber(0, 1e9),
    'console pages per address and 3 minutes, without their assets; 0 is off',
    '240',
  ),
  CRITICAL_RATE_LIMIT: setting(
    wholeNumber(0, 1e9),
    'sign-in, mail and code calls per address and 20 minutes; 0 is off',
    '20',
  ),
  RELAY_TIMEOUT: setting(
    wholeNumber(0, 86_400),
    'maximum seconds of a relayed call; 0 is no limit',
    '0',
  ),
  RELAY_FIRST_BYTE_TIMEOUT: setting(
    wholeNumber(1, 86_400),
    'seconds until an upstream must begin its response',
    '120',
  ),
  RELAY_WHOLE_ANSWER_TIMEOUT: setting(
    wholeNumber(1, 86_400),
    'the same for responses that are not streamed, which only begin once they are complete ' +
      '(default: five times `RELAY_FIRST_BYTE_TIMEOUT`)',
  ),
  RELAY_IDLE_TIMEOUT: setting(
    wholeNumber(1, 86_400),
    'maximum seconds that an upstream pauses within a response',
    '300',
  ),
  RELAY_QUOTA_WAIT: setting(
    wholeNumber(0, 600),
    'seconds that a call waits for points reserved by other calls of its user; 0 does not wait',
    '10',
  ),
  RELAY_KEEP_ALIVE: setting(
    wholeNumber(0, 3600),
    'seconds of silence after which a streaming client gets a keep-alive; 0 is never',
    '15',
  ),
  RELAY_CLIENT_GONE: setting(
    oneOf(['stop', 'finish']),
    'upstream call after the client has disconnected: `stop` cancels it, `finish` completes it and charges it in full',
    'stop',
  ),
  RELAY_BROKEN_ANSWER: setting(
    oneOf(['charge', 'free']),
    'whether the received part of a response that the upstream broke off is charged',
    'charge',
  ),
  RELAY_MISSING_USAGE: setting(
    oneOf(['count', 'free']),
    'whether tokens are counted here, and charged, if the upstream reports no usage',
    'count',
  ),
  RELAY_PROXY: setting(url, 'HTTP proxy for calls to upstreams'),
  SHUTDOWN_TIMEOUT: setting(
    wholeNumber(0, 3600),
    'seconds that open streams may continue after SIGTERM',
    '60',
  ),
  LOG_LEVEL: setting(
    oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'least important level that is logged',
    'info',
  ),
  LOG_FORMAT: setting(
    oneOf(['pretty', 'json']),
    'format of the log (default: `pretty` on a terminal, else `json`)',
  ),
  GITHUB_BASE_URL: setting(url, 'address of GitHub’s sign-in', 'https://github.com'),
  GITHUB_API_BASE_URL: setting(url, 'GitHub’s API', 'https://api.github.com'),
  LARK_BASE_URL: setting(
    url,
    'address of Lark’s sign-in and code exchange',
    'https://open.feishu.cn',
  ),
  LARK_API_BASE_URL: setting(
    url,
    'address of Lark’s user information',
    'https://passport.feishu.cn',
  ),
  TURNSTILE_BASE_URL: setting(
    url,
    'address that verifies the human check',
    'https://challenges.cloudflare.com',
  ),
  RELEASE_REPOSITORY: setting(
    z
      .string()
      .regex(/^[\w.-]+\/[\w.-]+$/)
      .meta({ wants: 'owner/name' }),
    '`owner/name` of the repository whose releases the update check reads (default: no check)',
  ),
  CONSOLE_ORIGINS: setting(
    commaSeparated
      .refine((list) => list.every((item) => URL.canParse(item) && new URL(item).origin === item))
      .meta({ wants: 'a comma list of origins such as https://console.example.com' }),
    'comma list of other origins that serve the console and call this server',
    '',
  ),
  EGRESS_ALLOW_PRIVATE: setting(
    flag,
    'whether configured addresses may be private; metadata addresses are never allowed',
    'true',
  ),
  MAX_CONNECTIONS: setting(
    wholeNumber(1, 1_000_000),
    'maximum open connections; further ones are closed on arrival (default: half of the ' +
      'limit of open files, at most 16384)',
  ),
  MAX_BODY_MB: setting(wholeNumber(1, 1024), 'largest relay body, in MB', '32'),
  RELAY_REQUESTS_MB: setting(
    wholeNumber(1, 1_048_576),
    'memory for the bodies of all running relay calls, in MB; at least 2 × `MAX_BODY_MB` ' +
      '(default: 8 × `MAX_BODY_MB`)',
  ),
  RELAY_ANSWERS_MB: setting(
    wholeNumber(64, 1_048_576),
    'memory for all upstream responses that are buffered completely, in MB',
    '256',
  ),
  METRICS_TOKEN: setting(
    z.string().min(16).meta({ wants: 'at least 16 characters' }),
    'bearer token for `/metrics` from addresses other than loopback',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    url,
    'OpenTelemetry collector that receives traces and metrics of relayed calls, such as ' +
      '`http://localhost:4318` (default: nothing is sent)',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    url,
    'the whole address for traces (default: `/v1/traces` at `OTEL_EXPORTER_OTLP_ENDPOINT`)',
  ),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: setting(
    url,
    'the whole address for metrics (default: `/v1/metrics` at `OTEL_EXPORTER_OTLP_ENDPOINT`)',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting(
    pairs,
    'headers of requests to the collector: `name=value` pairs separated by commas',
    '',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: setting(
    oneOf(['http/protobuf', 'http/json']),
    'encoding of the data; gRPC is not supported',
    'http/protobuf',
  ),
  OTEL_SERVICE_NAME: setting(text, 'name of this service at the collector (default: `gatehouse`)'),
  OTEL_RESOURCE_ATTRIBUTES: setting(
    pairs,
    'further attributes of this process: `name=value` pairs separated by commas',
    '',
  ),
  OTEL_TRACES_SAMPLER: setting(
    oneOf([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ]),
    'which calls are traced; `parentbased_…` follows the `traceparent` of the client if it sends one',
    'parentbased_always_on',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(
    z
      .string()
      .regex(/^(?:0?\.\d+|[01](?:\.0*)?)$/)
      .transform(Number)
      .meta({ wants: 'a number from 0 to 1' }),
    'share of the calls that `…traceidratio` traces, from 0 to 1',
    '1',
  ),
  OTEL_TRACES_EXPORTER: setting(oneOf(['otlp', 'none']), '`none` sends no traces', 'otlp'),
  OTEL_METRICS_EXPORTER: setting(oneOf(['otlp', 'none']), '`none` sends no metrics', 'otlp'),
  OTEL_SDK_DISABLED: setting(flag, 'sends nothing, with any other `OTEL_…` settings', 'false'),
  RELAY_TRACEPARENT: setting(
    flag,
    'whether upstreams receive the `traceparent` of their attempt, so that their spans join the trace',
    'false',
  ),
  BASE_PATH: setting(
    z
      .string()
      .regex(/^\/(?:[\w.~-]+(?:\/|$))*$/)
      .transform((base) => (base.endsWith('/') ? base : `${base}/`))
      .refine((base) => !isNoBase(base))
      .meta({ wants: 'a path such as /gatehouse/' }),
    'path prefix of the console and the API',
    '/',
  ),
  GEMINI_SAFETY_SETTING: setting(
    oneOf([
      'OFF',
      'BLOCK_NONE',
      'BLOCK_ONLY_HIGH',
      'BLOCK_MEDIUM_AND_ABOVE',
      'BLOCK_LOW_AND_ABOVE',
    ]),
    'how strictly Gemini filters its responses, for clients of other APIs, which cannot set ' +
      'it (default: Google’s)',
  ),
  GEMINI_VERSION: setting(
    z
      .string()
      .regex(/^v\d[0-9a-z]*$/)
      .meta({ wants: 'a version such as v1beta' }),
    'version of Gemini’s API for channels that set none',
    'v1beta',
  ),
  ENFORCE_INCLUDE_USAGE: setting(
    flag,
    'whether OpenAI streams end with the usage even if the client has not requested it',
    'false',
  ),
  TEST_PROMPT: setting(
    text,
    'prompt of a channel test',
    'Output only your specific model name with no additional text.',
  ),
  CHANNEL_TEST_FREQUENCY: setting(
    wholeNumber(0, 100_000),
    'minutes between tests of all channels, which are small billed calls; 0 is never',
    '0',
  ),
  POLLING_INTERVAL: setting(
    wholeNumber(0, 3600),
    'seconds between two channels when all are tested or their balances are queried',
    '0',
  ),
  THEME: setting(
    oneOf(['default', 'berry', 'air']),
    'accent color of the console if the option `Theme` is not set',
    'default',
  ),
} as const satisfies Record<string, Setting>

export type Config = {
  [K in keyof typeof settings]: z.output<(typeof settings)[K]['schema']> extends infer V
    ? (typeof settings)[K] extends { default: string }
      ? V
      : V | undefined
    : never
}

/** An invalid setting: one line with the variable, its value and the expected form. */
export class ConfigError extends Error {}

/**
 * Settings of One API and New API without an effect here; they do not stop startup. Image addresses
 * are passed to the upstream, so the server downloads nothing for users. SQL statements are never
 * traced, because they contain keys. `CHANNEL_UPDATE_FREQUENCY` has no effect in One API either.
 */
// oxlint-disable-next-line gatehouse/linear-pattern -- anchored, one repetition each
const IGNORED = new RegExp(
  `^(${[
    String.raw`REDIS_\w+`,
    'SYNC_FREQUENCY',
    'MEMORY_CACHE_ENABLED',
    String.raw`BATCH_\w+`,
    String.raw`SQL_(CONN_)?MAX_\w+`,
    'SQLITE_BUSY_TIMEOUT',
    'NODE_TYPE',
    'FRONTEND_BASE_URL',
    'TIKTOKEN_CACHE_DIR',
    'DATA_GYM_CACHE_DIR',
    'GIN_MODE',
    'ONLY_ONE_LOG_FILE',
    'ENABLE_METRIC',
    String.raw`METRIC_\w+`,
    String.raw`USER_CONTENT_REQUEST_\w+`,
    'CHANNEL_UPDATE_FREQUENCY',
    'DEBUG_SQL',
    // Of New API.
    'CRYPTO_SECRET',
    'SQL_SLOW_THRESHOLD_MS',
    'SKIP_64BIT_QUOTA_SCHEMA_CHECK',
    String.raw`STARTUP_RETRY_\w+`,
    'STREAMING_TIMEOUT',
    'RELAY_IDLE_CONN_TIMEOUT',
    String.raw`RELAY_MAX_IDLE_\w+`,
    'MAX_REQUEST_BODY_MB',
    'MAX_FILE_DOWNLOAD_MB',
    'STREAM_SCANNER_MAX_BUFFER_MB',
    '(GLOBAL_API|GLOBAL_WEB|CRITICAL)_RATE_LIMIT_(ENABLE|DURATION)',
    String.raw`SEARCH_RATE_LIMIT\w*`,
    'FORCE_STREAM_OPTION',
    String.raw`GET_MEDIA_TOKEN\w*`,
    'AZURE_DEFAULT_API_VERSION',
    'COHERE_SAFETY_SETTING',
    'GEMINI_VISION_MAX_IMAGE_NUM',
    'DIFY_DEBUG',
    'UPDATE_TASK',
    'TASK_(QUERY_LIMIT|TIMEOUT_MINUTES|PRICE_PATCH)',
    'ERROR_LOG_ENABLED',
    'GENERATE_DEFAULT_TOKEN',
    'NOTIFY_LIMIT_COUNT',
    'NOTIFICATION_LIMIT_DURATION_MINUTE',
    'SESSION_COOKIE_(SECURE|TRUSTED_URL)',
    String.raw`USER_SESSION_\w+`,
    'LINUX_DO_(TOKEN|USER)_ENDPOINT',
    'TRUSTED_REDIRECT_DOMAINS',
    'TLS_INSECURE_SKIP_VERIFY',
  ].join('|')})$`,
)

/** Number of server processes to start on this machine. */
export function workersOf({ WORKERS, SQL_DSN }: Config): number {
  if (WORKERS !== 'auto') return WORKERS
  return SQL_DSN === undefined ? 1 : os.availableParallelism()
}

export interface ParsedConfig {
  config: Config
  /** Notes to print once for the operator. */
  notes: string[]
}

/**
 * Hosts set `OTEL_…` variables for other programs, with values that are not supported here. They
 * count once a collector is named.
 */
const isOfOthers = (
  name: string,
  environment: Readonly<Record<string, string | undefined>>,
): boolean =>
  name.startsWith('OTEL_') &&
  !Object.keys(environment).some((one) => /^OTEL_EXPORTER_OTLP_(\w+_)?ENDPOINT$/.test(one))

/** Parses an environment. Throws `ConfigError` at the first invalid value. */
export function parseConfig(
  environment: Readonly<Record<string, string | undefined>>,
): ParsedConfig {
  const notes: string[] = []
  const ignored = Object.keys(environment).filter((name) => IGNORED.test(name))
  if (ignored.length > 0) notes.push(`These settings have no effect here: ${ignored.join(', ')}`)
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY'].filter((name) => environment[name])
  if (proxies.length > 0 && !environment['RELAY_PROXY']) {
    notes.push(`Not used here: ${proxies.join(', ')}; set the proxy for upstreams in RELAY_PROXY`)
  }
  notes.push(...misspelledIn(environment))
  const logDsn = logDsnOf(environment, notes)
  const values: Record<string, unknown> = {}
  for (const [name, { schema, default: otherwise }] of Object.entries<Setting>(settings)) {
    const raw = name === 'LOG_DSN' ? logDsn : environment[name]
    const isUnset = raw === undefined || raw === '' || isOfOthers(name, environment)
    const given = isUnset ? otherwise : raw
    if (given === undefined) {
      values[name] = undefined
      continue
    }
    const parsed = schema.safeParse(given)
    if (!parsed.success) throw new ConfigError(wrongValue(name, given, schema))
    values[name] = parsed.data
  }
  if (environment['DEBUG']?.toLowerCase() === 'true') values['LOG_LEVEL'] = 'debug'
  // Every key of `settings` was just parsed by its own schema.
  const config = values as Config
  checkAddresses(config)
  return { config, notes }
}

/**
 * Returns a note for each variable whose name is a slip away from that of a setting, such as
 * `SQL_DNS`, because a setting that is not read is otherwise noticed late.
 */
function misspelledIn(environment: Readonly<Record<string, string | undefined>>): string[] {
  const names = Object.keys(settings)
  const isKnown = (name: string) => names.includes(name) || IGNORED.test(name)
  return Object.keys(environment)
    .filter((given) => !isKnown(given) && !isOfOthers(given, environment))
    .flatMap((given) => {
      const meant = names.find((name) => isMisspelling(given, name))
      return meant === undefined || environment[meant] !== undefined
        ? []
        : [`${given} is not a setting and has no effect; the setting is called ${meant}`]
    })
}

const POSTGRES = /^postgres(ql)?:\/\//

function checkAddresses({
  SQL_DSN: dsn,
  SQL_READ_DSN: readDsn,
  LOG_DSN: logDsn,
  WORKERS,
}: Config): void {
  if (dsn === undefined && Number(WORKERS) > 1) {
    throw new ConfigError(
      'WORKERS: several workers need PostgreSQL (SQL_DSN); a SQLite file is served by one process',
    )
  }
  if (dsn !== undefined && !POSTGRES.test(dsn)) {
    throw new ConfigError(
      'SQL_DSN must start with postgres:// ; unset it for SQLite; for MySQL or MariaDB create a dump and load it with: gatehouse import FILE.sql',
    )
  }
  if (logDsn !== undefined && logDsn === dsn) {
    throw new ConfigError(
      'LOG_DSN must name another database than SQL_DSN; unset it to keep the log in the main database',
    )
  }
  const trouble = dsn === undefined ? null : addressTrouble(dsn)
  if (trouble !== null) throw new ConfigError(`SQL_DSN: ${trouble}`)
  if (readDsn === undefined) return
  if (dsn === undefined) {
    throw new ConfigError(
      'SQL_READ_DSN: SQLite has no replicas; set SQL_DSN to the PostgreSQL it follows, or unset it',
    )
  }
  if (!POSTGRES.test(readDsn) || addressesIn(readDsn).length > 1) {
    throw new ConfigError('SQL_READ_DSN must start with postgres:// and name one host')
  }
}

/** Returns `LOG_DSN`, or One API's `LOG_SQL_DSN` if that is PostgreSQL. */
function logDsnOf(
  environment: Readonly<Record<string, string | undefined>>,
  notes: string[],
): string | undefined {
  const { LOG_DSN: own, LOG_SQL_DSN: theirs } = environment
  if (!theirs) return own
  if (own) {
    notes.push('LOG_SQL_DSN has no effect beside LOG_DSN')
    return own
  }
  if (!POSTGRES.test(theirs)) {
    throw new ConfigError(
      'LOG_SQL_DSN: the log cannot stay in MySQL; unset it, load its dump with gatehouse import, ' +
        'and set LOG_DSN to PostgreSQL or ClickHouse if the log is to have a store of its own',
    )
  }
  notes.push('LOG_SQL_DSN is read as LOG_DSN: the log stays in that database')
  return theirs
}

/** A proxy address may contain a password. */
const SECRET = /SECRET|PASSWORD|TOKEN|DSN|RELAY_PROXY|OTLP_HEADERS/

function wrongValue(name: string, given: string, schema: z.ZodType): string {
  const wants = schema.meta()?.['wants']
  const shown = SECRET.test(name) ? 'a value' : JSON.stringify(given)
  return `${name}: got ${shown}, expected ${typeof wants === 'string' ? wants : 'another value'}`
}
