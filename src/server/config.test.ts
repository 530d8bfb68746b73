import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError, parseConfig, settings } from './config.ts'

test('an empty environment gives every default', () => {
  const { config, notes } = parseConfig({})
  expect(config).toMatchObject({
    PORT: 3000,
    HOST: '127.0.0.1',
    DATA_DIR: './data',
    SQL_DSN: undefined,
    SQLITE_SYNCHRONOUS: 'FULL',
    OPTIONS_MIN_ROLE: 10,
    TRUSTED_PROXIES: [],
    CRITICAL_RATE_LIMIT: 20,
    EGRESS_ALLOW_PRIVATE: true,
    BASE_PATH: '/',
  })
  expect(notes).toEqual([])
})

test('the example secret of Kubernetes does not start the server as it is', () => {
  const file = join(import.meta.dirname, '../../deploy/kubernetes/secret.example.yaml')
  const pairs = [...readFileSync(file, 'utf8').matchAll(/^ {2}(INITIAL_\w+|\w+_TOKEN): (\S+)$/gm)]
  expect(pairs.length).toBeGreaterThan(1)
  for (const [, name = '', value] of pairs) {
    expect(() => parseConfig({ [name]: value })).toThrow(`${name}: got`)
  }
})

test('pairs of OpenTelemetry are decoded, and refused without showing a secret', () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318'
  const OTEL_EXPORTER_OTLP_HEADERS = 'authorization=Basic%20YTpi, x-scope = a=b,'
  expect(
    parseConfig({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS }).config,
  ).toMatchObject({
    OTEL_EXPORTER_OTLP_HEADERS: { authorization: 'Basic YTpi', 'x-scope': 'a=b' },
  })
  for (const wrong of ['key', '=value', 'a=%zz']) {
    expect(() =>
      parseConfig({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: wrong }),
    ).toThrow(/^OTEL_EXPORTER_OTLP_HEADERS: got a value, expected a comma list/)
  }
})

test('an empty variable counts as absent', () => {
  expect(parseConfig({ PORT: '', SQL_DSN: '' }).config).toMatchObject({
    PORT: 3000,
    SQL_DSN: undefined,
  })
})

test.each([
  [{ SQL_READ_DSN: 'postgres://replica/db' }, /^SQL_READ_DSN: SQLite has no replicas/],
  [
    { SQL_DSN: 'postgres://h/db', SQL_READ_DSN: 'postgres://a,b/db' },
    /^SQL_READ_DSN must .* name one host/,
  ],
  [{ SQL_DSN: 'postgres://a,b/db?target_session_attrs=any' }, /^SQL_DSN: target_session_attrs/],
])('databases that cannot be used are refused: %o', (environment, message) => {
  expect(() => parseConfig(environment)).toThrow(message)
})

test('several hosts and a replica may be set', () => {
  const hosts = 'postgres://u:p@h1:5432,h2:5432/db?target_session_attrs=read-write'
  const { config } = parseConfig({ SQL_DSN: hosts, SQL_READ_DSN: 'postgres://h3/db' })
  expect(config).toMatchObject({ SQL_DSN: hosts, SQL_READ_LAG: 10 })
})

test.each([
  ['PORT', '80a', 'PORT: got "80a", expected a whole number from 0 to 65535'],
  ['PORT', '70000', 'PORT: got "70000", expected a whole number from 0 to 65535'],
  ['PORT', '-1', 'PORT: got "-1", expected a whole number from 0 to 65535'],
  ['PORT', '1e3', 'PORT: got "1e3", expected a whole number from 0 to 65535'],
  ['SQLITE_SYNCHRONOUS', 'OFF', 'SQLITE_SYNCHRONOUS: got "OFF", expected one of FULL, NORMAL'],
  [
    'TRUSTED_PROXIES',
    '10.0.0.1,proxy',
    'TRUSTED_PROXIES: got "10.0.0.1,proxy", expected a comma list of addresses or CIDR blocks',
  ],
  [
    'TRUSTED_PROXIES',
    '*',
    'TRUSTED_PROXIES: got "*", expected a comma list of addresses or CIDR blocks',
  ],
  ['OPTIONS_MIN_ROLE', '1', 'OPTIONS_MIN_ROLE: got "1", expected 10 or 100'],
  ['OPTIONS_MIN_ROLE', '50', 'OPTIONS_MIN_ROLE: got "50", expected 10 or 100'],
  ['EGRESS_ALLOW_PRIVATE', 'yes', 'EGRESS_ALLOW_PRIVATE: got "yes", expected true or false'],
  ['BASE_PATH', 'gate', 'BASE_PATH: got "gate", expected a path such as /gatehouse/'],
  ['BASE_PATH', '/..', 'BASE_PATH: got "/..", expected a path such as /gatehouse/'],
  // Rejected quickly, at any length.
  [
    'BASE_PATH',
    '/models-of-our-company-in-production?',
    'BASE_PATH: got "/models-of-our-company-in-production?", expected a path such as /gatehouse/',
  ],
  ['BASE_PATH', '/v1', 'BASE_PATH: got "/v1", expected a path such as /gatehouse/'],
  ['BASE_PATH', '/v1alpha', 'BASE_PATH: got "/v1alpha", expected a path such as /gatehouse/'],
  ['SQLITE_PATH', ':memory:', 'SQLITE_PATH: got ":memory:", expected the path of a file'],
  ['SQLITE_PATH', 'file:/x', 'SQLITE_PATH: got "file:/x", expected the path of a file'],
  ['GEMINI_VERSION', '1/..', 'GEMINI_VERSION: got "1/..", expected a version such as v1beta'],
])('%s=%s stops startup with one line', (name, value, line) => {
  expect(() => parseConfig({ [name]: value })).toThrow(new ConfigError(line))
})

test.each(['1', '10.1', '10.0.0.0/33', '10.0.0.0/8/8', '2001:db8::/129', '10.0.0.0/'])(
  'no proxy is trusted for %s',
  (value) => {
    expect(() => parseConfig({ TRUSTED_PROXIES: value })).toThrow(/^TRUSTED_PROXIES: got/)
  },
)

test('addresses and networks of both kinds are proxies, and a host may have brackets', () => {
  const list = ['127.0.0.1', '10.0.0.0/8', '::1', '2001:db8::/32', '::ffff:10.0.0.0/104']
  const { config } = parseConfig({ TRUSTED_PROXIES: list.join(', '), HOST: '[::1]' })
  expect(config).toMatchObject({ TRUSTED_PROXIES: list, HOST: '::1' })
})

test.each([
  ['SESSION_SECRET', 'hunter2', 'at least 16 characters; if it is unset, one is generated'],
  ['SESSION_SECRET', 'x', 'at least 16 characters; if it is unset, one is generated'],
  ['METRICS_TOKEN', 'x', 'at least 16 characters'],
  ['RELAY_PROXY', 'socks5://me:word@proxy:1080', 'an address that starts with http:// or https://'],
  ['INITIAL_ROOT_PASSWORD', '1234567', '8 characters to 72 bytes'],
  ['INITIAL_ROOT_PASSWORD', '密'.repeat(25), '8 characters to 72 bytes'],
])('an invalid %s is not repeated', (name, value, wants) => {
  expect(() => parseConfig({ [name]: value })).toThrow(
    new ConfigError(`${name}: got a value, expected ${wants}`),
  )
})

test.each(['user:pass@tcp(db:3306)/oneapi', 'mysql://root@db/oneapi'])(
  'a MySQL address gets instructions: %s',
  (dsn) => {
    expect(() => parseConfig({ SQL_DSN: dsn })).toThrow(/^SQL_DSN must start with postgres:/)
  },
)

test.each([
  'postgres://u:p@db:5432/logs',
  'http://u:p@clickhouse:8123/logs',
  'https://clickhouse.example.com',
])('the log may have a store of its own: %s', (dsn) => {
  expect(parseConfig({ LOG_DSN: dsn }).config.LOG_DSN).toBe(dsn)
})

test.each(['mysql://root@db/logs', 'clickhouse://db:9000/logs', 'logs'])(
  'a store that cannot be used is refused without its password: %s',
  (dsn) => {
    expect(() => parseConfig({ LOG_DSN: dsn })).toThrow(/^LOG_DSN: got a value, expected postgres:/)
  },
)

test('the log’s own store is not the main database', () => {
  const dsn = 'postgres://db/gatehouse'
  expect(() => parseConfig({ SQL_DSN: dsn, LOG_DSN: dsn })).toThrow(/^LOG_DSN must name another/)
})

test('One API’s log database is the log store if it is PostgreSQL; MySQL stops startup', () => {
  const dsn = 'postgres://db/logs'
  const { config, notes } = parseConfig({ LOG_SQL_DSN: dsn })
  expect(config.LOG_DSN).toBe(dsn)
  expect(notes).toEqual(['LOG_SQL_DSN is read as LOG_DSN: the log stays in that database'])
  expect(() => parseConfig({ LOG_SQL_DSN: 'u:p@tcp(db:3306)/logs' })).toThrow(
    /^LOG_SQL_DSN: the log cannot stay in MySQL.*gatehouse import/,
  )
  const both = parseConfig({ LOG_SQL_DSN: 'u:p@tcp(db:3306)/logs', LOG_DSN: dsn })
  expect(both.config.LOG_DSN).toBe(dsn)
  expect(both.notes).toEqual(['LOG_SQL_DSN has no effect beside LOG_DSN'])
})

test('unsupported settings of One API are listed once and stop nothing', () => {
  const { notes } = parseConfig({ REDIS_CONN_STRING: 'redis://r', SYNC_FREQUENCY: '60', PORT: '1' })
  expect(notes).toEqual(['These settings have no effect here: REDIS_CONN_STRING, SYNC_FREQUENCY'])
})

/** Settings of One API and New API that are unsupported and stop nothing. */
const IGNORED = [
  'SQLITE_BUSY_TIMEOUT',
  'SQL_MAX_IDLE_CONNS',
  'SQL_MAX_OPEN_CONNS',
  'SQL_MAX_LIFETIME',
  'SQL_CONN_MAX_LIFETIME',
  'REDIS_CONN_STRING',
  'REDIS_MASTER_NAME',
  'REDIS_PASSWORD',
  'SYNC_FREQUENCY',
  'MEMORY_CACHE_ENABLED',
  'NODE_TYPE',
  'FRONTEND_BASE_URL',
  'BATCH_UPDATE_ENABLED',
  'BATCH_UPDATE_INTERVAL',
  'CHANNEL_UPDATE_FREQUENCY',
  'USER_CONTENT_REQUEST_PROXY',
  'USER_CONTENT_REQUEST_TIMEOUT',
  'ENABLE_METRIC',
  'METRIC_QUEUE_SIZE',
  'METRIC_SUCCESS_RATE_THRESHOLD',
  'METRIC_SUCCESS_CHAN_SIZE',
  'METRIC_FAIL_CHAN_SIZE',
  'ONLY_ONE_LOG_FILE',
  'DEBUG_SQL',
  'GIN_MODE',
  'TIKTOKEN_CACHE_DIR',
  'DATA_GYM_CACHE_DIR',
  'CRYPTO_SECRET',
  'SQL_SLOW_THRESHOLD_MS',
  'STARTUP_RETRY_ATTEMPTS',
  'STREAMING_TIMEOUT',
  'RELAY_IDLE_CONN_TIMEOUT',
  'RELAY_MAX_IDLE_CONNS_PER_HOST',
  'MAX_REQUEST_BODY_MB',
  'GLOBAL_API_RATE_LIMIT_ENABLE',
  'CRITICAL_RATE_LIMIT_DURATION',
  'SEARCH_RATE_LIMIT',
  'FORCE_STREAM_OPTION',
  'GET_MEDIA_TOKEN_NOT_STREAM',
  'AZURE_DEFAULT_API_VERSION',
  'UPDATE_TASK',
  'TASK_TIMEOUT_MINUTES',
  'ERROR_LOG_ENABLED',
  'GENERATE_DEFAULT_TOKEN',
  'SESSION_COOKIE_SECURE',
  'USER_SESSION_ACTIVE_LIMIT',
  'LINUX_DO_TOKEN_ENDPOINT',
  'TLS_INSECURE_SKIP_VERIFY',
]

test('each unsupported setting of One API and New API is listed', () => {
  const { notes } = parseConfig(Object.fromEntries(IGNORED.map((name) => [name, '1'])))
  expect(notes).toEqual([`These settings have no effect here: ${IGNORED.join(', ')}`])
  // A setting of this program.
  expect(parseConfig({ METRICS_TOKEN: 'a'.repeat(16) }).notes).toEqual([])
})

test('a misspelled setting is reported with the right name, other programs’ variables are not', () => {
  const slips = {
    SQL_DNS: 'SQL_DSN',
    DATADIR: 'DATA_DIR',
    TRUSTED_PROXYS: 'TRUSTED_PROXIES',
    sql_dsn: 'SQL_DSN',
    RELAY_TIMOUT: 'RELAY_TIMEOUT',
  }
  for (const [given, meant] of Object.entries(slips)) {
    expect(parseConfig({ [given]: 'postgres://u:p@h/db' }).notes).toEqual([
      `${given} is not a setting and has no effect; the setting is called ${meant}`,
    ])
  }
  const others = ['HOSTS', 'PORTS', 'LOG_DIR', 'HTTP_PORT', 'OTEL_TRACE_EXPORTER', 'HOSTNAME']
  expect(parseConfig(Object.fromEntries(others.map((name) => [name, '1']))).notes).toEqual([])
  expect(parseConfig({ SQL_DNS: 'x', SQL_DSN: 'postgres://u:p@h/db' }).notes).toEqual([])
})

test('an ignored proxy is reported unless RELAY_PROXY is set', () => {
  const HTTPS_PROXY = 'http://me:word@proxy:3128'
  expect(parseConfig({ HTTPS_PROXY }).notes).toEqual([
    'Not used here: HTTPS_PROXY; set the proxy for upstreams in RELAY_PROXY',
  ])
  expect(parseConfig({ HTTPS_PROXY, RELAY_PROXY: 'http://proxy:3128' }).notes).toEqual([])
})

test('OpenTelemetry variables without an address of a collector are meant for other programs', () => {
  const OTEL_EXPORTER_OTLP_PROTOCOL = 'grpc'
  expect(() => parseConfig({ OTEL_EXPORTER_OTLP_PROTOCOL })).not.toThrow()
  expect(() =>
    parseConfig({
      OTEL_EXPORTER_OTLP_PROTOCOL,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    }),
  ).toThrow(/^OTEL_EXPORTER_OTLP_PROTOCOL: got "grpc"/)
})

test('DEBUG only increases the log level', () => {
  const { config } = parseConfig({ DEBUG: 'true' })
  expect(config.LOG_LEVEL).toBe('debug')
  expect(config.CRITICAL_RATE_LIMIT).toBe(20)
})

test('a base path always ends in a slash', () => {
  expect(parseConfig({ BASE_PATH: '/gate' }).config.BASE_PATH).toBe('/gate/')
  expect(parseConfig({ BASE_PATH: '/our/gate/' }).config.BASE_PATH).toBe('/our/gate/')
})

test('every default passes its own check', () => {
  expect(() => parseConfig({})).not.toThrow()
  expect(Object.keys(settings).length).toBeGreaterThan(20)
})
