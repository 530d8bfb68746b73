import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ConfigError, parseConfig, readEnvFile, settings } from './config.ts'

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

test('an empty variable counts as absent', () => {
  expect(parseConfig({ PORT: '', SQL_DSN: '' }).config).toMatchObject({
    PORT: 3000,
    SQL_DSN: undefined,
  })
})

test.each([
  ['PORT', '80a', 'PORT: got "80a", wants a whole number from 0 to 65535'],
  ['PORT', '70000', 'PORT: got "70000", wants a whole number from 0 to 65535'],
  ['PORT', '-1', 'PORT: got "-1", wants a whole number from 0 to 65535'],
  ['PORT', '1e3', 'PORT: got "1e3", wants a whole number from 0 to 65535'],
  ['SQLITE_SYNCHRONOUS', 'OFF', 'SQLITE_SYNCHRONOUS: got "OFF", wants one of FULL, NORMAL'],
  [
    'TRUSTED_PROXIES',
    '10.0.0.1,proxy',
    'TRUSTED_PROXIES: got "10.0.0.1,proxy", wants a comma list of addresses or CIDR blocks',
  ],
  [
    'TRUSTED_PROXIES',
    '*',
    'TRUSTED_PROXIES: got "*", wants a comma list of addresses or CIDR blocks',
  ],
  ['OPTIONS_MIN_ROLE', '50', 'OPTIONS_MIN_ROLE: got "50", wants 10 or 100'],
  ['EGRESS_ALLOW_PRIVATE', 'yes', 'EGRESS_ALLOW_PRIVATE: got "yes", wants true or false'],
  ['BASE_PATH', 'gate', 'BASE_PATH: got "gate", wants a path such as /gatehouse/'],
  [
    'RELAY_PROXY',
    'proxy:8080',
    'RELAY_PROXY: got "proxy:8080", wants an address that starts with http:// or https://',
  ],
])('%s=%s stops the start with one line', (name, value, line) => {
  expect(() => parseConfig({ [name]: value })).toThrow(new ConfigError(line))
})

test.each([
  ['SESSION_SECRET', 'hunter2', 'at least 16 characters'],
  ['SESSION_SECRET', 'x', 'at least 16 characters'],
  ['METRICS_TOKEN', 'x', 'at least 16 characters'],
  ['INITIAL_ROOT_PASSWORD', '1234567', '8 characters to 72 bytes'],
  ['INITIAL_ROOT_PASSWORD', '密'.repeat(25), '8 characters to 72 bytes'],
  ['INITIAL_ROOT_TOKEN', `sk-${'a'.repeat(45)}`, '32 to 48 letters and digits'],
  ['INITIAL_ROOT_ACCESS_TOKEN', 'a'.repeat(31), '32 letters and digits'],
])('a wrong %s is not repeated', (name, value, wants) => {
  expect(() => parseConfig({ [name]: value })).toThrow(
    new ConfigError(`${name}: got a value, wants ${wants}`),
  )
})

test.each(['user:pass@tcp(db:3306)/oneapi', 'mysql://root@db/oneapi'])(
  'a MySQL address says what to do: %s',
  (dsn) => {
    expect(() => parseConfig({ SQL_DSN: dsn })).toThrow(/^SQL_DSN must start with postgres:/)
  },
)

test('a separate log database stops the start', () => {
  expect(() => parseConfig({ LOG_SQL_DSN: 'postgres://db/logs' })).toThrow(/^LOG_SQL_DSN/)
})

test('settings of One API without a meaning here are named once and stop nothing', () => {
  const { notes } = parseConfig({ REDIS_CONN_STRING: 'redis://r', SYNC_FREQUENCY: '60', PORT: '1' })
  expect(notes).toEqual(['These settings have no effect here: REDIS_CONN_STRING, SYNC_FREQUENCY'])
})

test('DEBUG only makes the program tell more', () => {
  const { config } = parseConfig({ DEBUG: 'true' })
  expect(config.LOG_LEVEL).toBe('debug')
  expect(config.CRITICAL_RATE_LIMIT).toBe(20)
})

test('a base path ends in a slash, whoever wrote it', () => {
  expect(parseConfig({ BASE_PATH: '/gate' }).config.BASE_PATH).toBe('/gate/')
})

test('a .env file is read with comments, quotes and blanks', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-env-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true }))
  fs.writeFileSync(
    path.join(folder, '.env'),
    '# settings\nPORT=3100\nexport HOST = 0.0.0.0\nSESSION_SECRET="with spaces inside"\n\n',
  )
  expect(readEnvFile(folder)).toEqual({
    PORT: '3100',
    HOST: '0.0.0.0',
    SESSION_SECRET: 'with spaces inside',
  })
  expect(readEnvFile(path.join(folder, 'nowhere'))).toEqual({})
})

test('every default passes its own check', () => {
  expect(() => parseConfig({})).not.toThrow()
  expect(Object.keys(settings).length).toBeGreaterThan(20)
})
