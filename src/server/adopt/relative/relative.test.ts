import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { NEVER_TRIED_SECONDS } from '../../channel/channel-pause-store.ts'
import { openBare } from '../../db/database.ts'
import { adopt, reportOf } from '../../test/adopting.ts'
import {
  FIXTURES_BY_ENGINE,
  newFolder,
  plainPostgres,
  plainSqlite,
  type PlainDatabase,
} from '../../test/one-api-databases.ts'
import { createTestDatabase } from '../../test/postgres.ts'
import type { AdoptionChoice } from '../adopt-database.ts'
import { loadDumps } from '../import-dump.ts'
import { relativeOf } from './channel-type.ts'

/** Databases of New API and One Hub: what their numbers, switches and prices are here. */

const channelsOf = (database: PlainDatabase) =>
  database.rows('SELECT id, type, status, base_url FROM channels ORDER BY id')

async function optionsOf(database: PlainDatabase): Promise<Record<string, unknown>> {
  const rows = await database.rows('SELECT "key", value FROM options')
  const maps = /^(ModelRatio|CompletionRatio|ModelPrice|GroupRatio|UserUsableGroups)$/
  return Object.fromEntries(
    rows
      .filter(({ key }) => maps.test(String(key)))
      .map(({ key, value }) => [String(key), JSON.parse(String(value))]),
  )
}

/** `bcrypt.GenerateFromPassword([]byte("AB12-CD34"), bcrypt.DefaultCost)`. */
const BACKUP_HASH = '$2a$10$uAlUIhj0gdLDBD2uj1gO4u5R9AeT83pgUvm/N0DP9U0uv3RUo6T5a'

const NEW_API = `
  ALTER TABLE channels ADD COLUMN status_code_mapping varchar(1024) DEFAULT '';
  ALTER TABLE channels ADD COLUMN auto_ban bigint DEFAULT 1;
  ALTER TABLE channels ADD COLUMN channel_info json;
  UPDATE channels SET base_url = '' WHERE id <> 2;
  UPDATE channels SET type = 34 WHERE id = 1;
  UPDATE channels SET type = 27 WHERE id = 2;
  UPDATE channels SET type = 36 WHERE id = 3;
  UPDATE channels SET type = 27 WHERE id = 4;
  UPDATE channels SET type = 17, "key" = 'sk-one' || chr10 || 'sk-two' || chr10 || 'sk-three',
    channel_info = '{"is_multi_key": true, "multi_key_status_list": {"0": 2, "2": 3}}' WHERE id = 5;
  UPDATE channels SET type = 40, "key" = 'sk-a' || chr10 || 'sk-b',
    channel_info = '{"is_multi_key":true,"multi_key_status_list":{"0":2,"1":2}}' WHERE id = 6;
  UPDATE channels SET type = 57 WHERE id = 7;
  CREATE TABLE two_fas (id integer, user_id integer, secret varchar(255), is_enabled boolean,
    failed_attempts bigint DEFAULT 0, locked_until timestamp, last_used_at timestamp,
    created_at timestamp, updated_at timestamp, deleted_at timestamp);
  INSERT INTO two_fas (id, user_id, secret, is_enabled) VALUES
    (1, 2, 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', true), (2, 3, 'JBSWY3DPEHPK3PXP', false),
    (3, 4, 'not a secret', true), (4, 999, 'JBSWY3DPEHPK3PXP', true);
  CREATE TABLE two_fa_backup_codes (id integer, user_id integer, code_hash varchar(255),
    is_used boolean, used_at timestamp, created_at timestamp, deleted_at timestamp);
  INSERT INTO two_fa_backup_codes (id, user_id, code_hash, is_used) VALUES
    (1, 2, '${BACKUP_HASH}', false), (2, 2, '${BACKUP_HASH.replace('$10$', '$11$')}', true),
    (3, 2, 'AB12-CD34', false), (4, 3, '${BACKUP_HASH}', false);
  INSERT INTO two_fa_backup_codes (id, user_id, code_hash, is_used, deleted_at) VALUES
    (5, 2, '${BACKUP_HASH.replace('$10$', '$12$')}', false, '2026-01-02 03:04:05');
  CREATE TABLE passkey_credentials (id integer, user_id integer, credential_id varchar(512),
    public_key text, attestation_type varchar(255), aaguid varchar(512), sign_count bigint DEFAULT 0,
    clone_warning boolean, user_present boolean, user_verified boolean, backup_eligible boolean,
    backup_state boolean, transports text, attachment varchar(32), last_used_at timestamp,
    created_at timestamp, updated_at timestamp, deleted_at timestamp);
  INSERT INTO passkey_credentials (id, user_id, credential_id, public_key, sign_count, transports,
    created_at) VALUES
    (1, 3, '+/8BAg==', 'pQECAw==', 7, '["internal","hybrid"]', '2026-01-02 03:04:05.123'),
    (2, 3, '', 'pQECAw==', 0, '', NULL);
  ALTER TABLE users ADD COLUMN aff_quota bigint DEFAULT 0;
  UPDATE users SET aff_quota = 250000 WHERE id = 3;
  UPDATE logs SET type = 6 WHERE id = 11`.replaceAll('chr10', `'\n'`)

const ONE_HUB = `
  ALTER TABLE channels ADD COLUMN proxy varchar(255) DEFAULT '';
  ALTER TABLE channels ADD COLUMN only_chat boolean DEFAULT false;
  UPDATE channels SET base_url = '' WHERE id <> 2;
  UPDATE channels SET type = 25 WHERE id = 1;
  UPDATE channels SET type = 28 WHERE id = 2;
  UPDATE channels SET type = 24 WHERE id = 3;
  UPDATE channels SET type = 40 WHERE id = 4;
  UPDATE channels SET type = 36 WHERE id = 5;
  UPDATE channels SET type = 32 WHERE id = 6;
  UPDATE channels SET type = 44 WHERE id = 7;
  ALTER TABLE tokens ADD COLUMN setting json;
  UPDATE tokens SET setting = '{"limits": {"limit_model_setting": {"enabled": true,
    "models": ["gpt-4o-mini", "gpt-4o"]}, "limits_ip_setting": {"enabled": true,
    "whitelist": ["10.9.9.9"]}}}' WHERE id = 2;
  UPDATE tokens SET setting = '{"limits":{"limit_model_setting":{"enabled":true,"models":null},
    "limits_ip_setting":{"enabled":false,"whitelist":["10.9.9.9"]}}}' WHERE id = 3;
  UPDATE tokens SET setting = '{"heartbeat":{"enabled":true},"limits":{}}' WHERE id = 4;
  CREATE TABLE prices (model varchar(100), type text, channel_type integer, input real, output real);
  INSERT INTO prices VALUES ('my-own-model', 'tokens', 1, 0.5, 1.5), ('free', 'tokens', 1, 0, 0),
    ('drawn', 'times', 1, 20, 20), ('told', 'tokens', 1, 0, 3);
  CREATE TABLE user_groups (id integer, symbol varchar(50), name varchar(50), ratio decimal(10,2),
    public boolean, enable boolean);
  INSERT INTO user_groups VALUES (1, 'default', '', 1, false, true), (2, 'vip', 'fast', 3, true, true),
    (3, 'old', 'gone', 2, true, false)`

const ONE_HUB_OPTIONS = {
  ModelRatio: { 'my-own-model': 0.5, free: 0, told: 0.000003 },
  CompletionRatio: { 'my-own-model': 3, free: 1, told: 1_000_000 },
  ModelPrice: { drawn: 0.04 },
  GroupRatio: { default: 1, vip: 3, old: 2 },
  UserUsableGroups: { vip: 'fast' },
}

describe.each(FIXTURES_BY_ENGINE)('on %s', (_engine, open) => {
  // Taken as ours, a number would send the key to another provider.
  test('channels of New API keep their provider, and those without a counterpart are disabled', async () => {
    const database = await open()
    await database.run(NEW_API)
    const before = await reportOf(database)
    expect(before).toContain('1 channels of New API’s type 57 have no counterpart')
    expect(before).toMatch(
      /2 channels of New API’s type 27 become OpenAI compatible \(50\) \(2, 4\)/,
    )
    expect(before).toMatch(/2 channels have disabled keys/)
    expect(before).toContain('1 users have an authenticator app, which is taken over (2)')
    expect(before).toContain('1 unused backup codes are taken over (2)')
    expect(before).toMatch(/1 passkeys are taken over; they work only if the host name.* \(3\)/)
    const losses = [
      /1 users have a second factor that cannot be read; .*set one up again \(4\)/,
      /1 unused backup codes are not bcrypt hashes; .*new ones \(2\)/,
      /1 passkeys cannot be read; .*add new ones \(3\)/,
    ]
    for (const loss of losses) {
      expect(before).toMatch(new RegExp(`Will be lost\n[^]*${loss.source}[^]*--accept-losses`))
    }
    expect(before).toMatch(/1 users have points for invitations .* \(3\)/)
    expect(before).toMatch(/1 log rows are errors .*\(11\)/)
    const said = await adopt(database, { acceptsLosses: true })
    for (const loss of losses) expect(said).toMatch(loss)
    expect(said).toContain(
      'channels of New API’s type 36 have no counterpart here and are disabled: 3',
    )
    expect(said).toContain('channels of New API’s type 34 become Cohere (35): 1')
    expect(said).toContain('1 users have an authenticator app, which is taken over')
    expect(await database.rows('SELECT user_id, secret FROM second_factors')).toEqual([
      { user_id: 2, secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' },
    ])
    expect(await database.rows('SELECT user_id, code_hash FROM recovery_codes')).toEqual([
      { user_id: 2, code_hash: BACKUP_HASH },
    ])
    expect(
      await database.rows(`SELECT credential_id, user_id, public_key, counter, transports,
        created_at, used_at FROM passkeys`),
    ).toEqual([
      {
        credential_id: '-_8BAg',
        user_id: 3,
        public_key: 'pQECAw',
        counter: 7,
        transports: '["internal","hybrid"]',
        created_at: Date.parse('2026-01-02T03:04:05Z') / 1000,
        used_at: 0,
      },
    ])
    expect(await channelsOf(database)).toEqual([
      { id: 1, type: 35, status: 1, base_url: '' },
      { id: 2, type: 50, status: 2, base_url: 'http://127.0.0.1:4010' },
      { id: 3, type: 8, status: 2, base_url: '' },
      { id: 4, type: 50, status: 1, base_url: 'https://api.perplexity.ai' },
      { id: 5, type: 17, status: 1, base_url: '' },
      // None of its keys was in use.
      { id: 6, type: 44, status: 2, base_url: '' },
      { id: 7, type: 8, status: 2, base_url: '' },
    ])
    expect(
      await database.rows(`SELECT DISTINCT channel_id, enabled FROM abilities
        WHERE channel_id IN (4, 6, 7) ORDER BY channel_id`),
    ).toEqual([
      { channel_id: 4, enabled: 1 },
      { channel_id: 6, enabled: 0 },
      { channel_id: 7, enabled: 0 },
    ])
  })

  test('adoption that would lose a second factor changes nothing until it is accepted', async () => {
    const database = await open()
    await database.run(NEW_API)
    const before = await reportOf(database)
    await expect(adopt(database)).rejects.toThrow(
      /users would lose .*cannot be read.* \(4\)\. 1 unused backup codes.* --accept-losses$/,
    )
    expect(await reportOf(database)).toBe(before)
    if (database.location.engine === 'sqlite') {
      const folder = path.dirname(database.location.path)
      expect(fs.readdirSync(folder).filter((name) => name.includes('before-'))).toEqual([])
    }
  })

  test('passkeys of another host name than that of ServerAddress are lost', async () => {
    const database = await open()
    await database.run(`${NEW_API};
      DELETE FROM two_fas WHERE id = 3; DELETE FROM two_fa_backup_codes WHERE id = 3;
      DELETE FROM passkey_credentials WHERE id = 2;
      DELETE FROM options WHERE "key" IN ('ServerAddress', 'passkey.rp_id');
      INSERT INTO options ("key", value) VALUES ('ServerAddress', 'https://ai.example.com:8443/'),
        ('passkey.rp_id', 'example.com')`)
    const loss =
      /1 passkeys belong to the host name example\.com, but ServerAddress has ai\.example\.com; .* \(3\)/
    expect(await reportOf(database)).toMatch(loss)
    await expect(adopt(database)).rejects.toThrow(loss)
    await database.run(`UPDATE options SET value = 'ai.example.com' WHERE "key" = 'passkey.rp_id'`)
    expect(await adopt(database)).toContain('1 passkeys are taken over')
    expect(await database.rows('SELECT user_id FROM passkeys')).toHaveLength(1)
  })

  test('a second factor in a column of users is taken over if it is a secret, otherwise lost', async () => {
    const database = await open()
    await database.run(`ALTER TABLE users ADD COLUMN totp_secret varchar(64);
      ALTER TABLE users ADD COLUMN two_factor_enabled boolean;
      UPDATE users SET totp_secret = 'JBSWY3DPEHPK3PXP', two_factor_enabled = true WHERE id = 4;
      UPDATE users SET two_factor_enabled = true WHERE id = 3;
      UPDATE users SET totp_secret = '', two_factor_enabled = false WHERE id = 2`)
    const report = await reportOf(database)
    expect(report).toContain('1 users have an authenticator app, which is taken over (4)')
    expect(report).toMatch(/1 users have a second factor that cannot be read.* \(3\)/)
    await expect(adopt(database)).rejects.toThrow(/\(3\).*--accept-losses/)
    expect(await adopt(database, { acceptsLosses: true })).toMatch(/set one up again \(3\)/)
    expect(
      await database.rows('SELECT user_id, secret, last_step FROM second_factors'),
    ).toMatchObject([{ user_id: 4, secret: 'JBSWY3DPEHPK3PXP' }])
  })

  test('a table of second factors that is not read is a loss', async () => {
    const database = await open()
    await database.run(`CREATE TABLE user_totps (user_id integer, otp_key varchar(64));
      ALTER TABLE users ADD COLUMN deleted_at timestamp;
      UPDATE users SET deleted_at = '2026-01-02 03:04:05' WHERE id = 3;
      INSERT INTO user_totps VALUES (3, 'of a deleted user'), (4, 'secret'), (999, 'of nobody')`)
    await expect(adopt(database)).rejects.toThrow(
      /1 rows of the table user_totps look like second factors.* \(4\)/,
    )
    await adopt(database, { acceptsLosses: true })
  })

  test('accounts at LinuxDO and Discord are taken over, and others are reported', async () => {
    const database = await open()
    await database.run(`ALTER TABLE users ADD COLUMN linux_do_id varchar(191) DEFAULT '';
      ALTER TABLE users ADD COLUMN discord_id varchar(191);
      ALTER TABLE users ADD COLUMN telegram_id varchar(191);
      UPDATE users SET linux_do_id = '77', discord_id = '80351110224678912' WHERE id = 2;
      UPDATE users SET linux_do_id = '78' WHERE id IN (3, 4);
      UPDATE users SET telegram_id = 'tg' WHERE id = 3;
      CREATE TABLE user_oauth_bindings (id integer, user_id integer, provider_id integer,
        provider_user_id varchar(256));
      INSERT INTO user_oauth_bindings VALUES (1, 4, 1, 'x')`)
    const report = await reportOf(database)
    for (const found of [
      /1 users have an account at LinuxDO, which is taken over.* \(2\)/,
      /2 users have an account at LinuxDO that is invalid or belongs to several.* \(3, 4\)/,
      /1 users have an account at Discord, which is taken over.* \(2\)/,
      /2 users have an account at Telegram or a custom provider.* \(3, 4\)/,
    ]) {
      expect(report).toMatch(found)
    }
    expect(await adopt(database)).toContain(
      '1 users have an account at Discord, which is taken over',
    )
    expect(
      await database.rows(`SELECT provider, 'id ' || subject AS subject, user_id
        FROM external_identities ORDER BY provider`),
    ).toMatchObject([
      { provider: 'discord', subject: 'id 80351110224678912', user_id: 2 },
      { provider: 'linuxdo', subject: 'id 77', user_id: 2 },
    ])
  })

  test('keys that New API has switched off are set aside', async () => {
    const database = await open()
    await database.run(NEW_API)
    await adopt(database, { acceptsLosses: true })
    expect(
      await database.rows(`SELECT cause, next_trial_at = ${NEVER_TRIED_SECONDS} AS never
        FROM channel_key_pauses WHERE channel_id = 5 ORDER BY cause`),
    ).toEqual([
      { cause: 'disabled by New API', never: 0 },
      { cause: 'switched off in New API', never: 1 },
    ])
  })

  test('channels, limits, prices and groups of One Hub are what they were', async () => {
    const database = await open()
    await database.run(ONE_HUB)
    const before = await reportOf(database)
    expect(before).toContain('prices and user_groups become the corresponding options')
    expect(before).toContain('1 channels of One Hub’s type 44 have no counterpart')
    const said = await adopt(database)
    expect(said).toContain('3 model and address lists of tokens were taken over')
    expect(said).toMatch(/Bedrock \(33\); check their forms before the first call: 6/)
    expect((await channelsOf(database)).map(({ type, status }) => [type, status])).toEqual([
      [24, 1],
      [36, 2],
      [8, 2],
      [23, 1],
      [35, 1],
      [33, 1],
      [8, 2],
    ])
    expect(
      await database.rows(`SELECT id, status, models, subnet FROM tokens
        WHERE id IN (2, 3, 4) ORDER BY id`),
    ).toMatchObject([
      { status: 1, models: 'gpt-4o-mini,gpt-4o', subnet: '10.9.9.9/32' },
      { status: 2, subnet: '' },
      { status: 1, models: null, subnet: '' },
    ])
    expect(await optionsOf(database)).toEqual(ONE_HUB_OPTIONS)
  })

  test('if the origin of type numbers is unknown, they are kept and reported', async () => {
    const database = await open()
    await database.run('ALTER TABLE channels ADD COLUMN auto_ban bigint DEFAULT 1')
    const before = await channelsOf(database)
    expect(await reportOf(database)).toMatch(
      /3 channels come from a program related to One API.*\(3, 6, 7\)/,
    )
    expect(await adopt(database)).toMatch(
      /channels come from a program related to One API.*: 3, 6, 7/,
    )
    expect(await channelsOf(database)).toEqual(before)
  })
})

const NEW_DATABASES: [string, () => PlainDatabase | Promise<PlainDatabase>][] = [
  ['sqlite', () => plainSqlite(`${newFolder()}/new.db`)],
  [
    'postgres',
    async () => {
      const { url, drop } = await createTestDatabase()
      onTestFinished(drop)
      return plainPostgres(url)
    },
  ],
]

async function load(
  { location }: PlainDatabase,
  dump: string,
  choice?: AdoptionChoice,
): Promise<string> {
  const lines: string[] = []
  const bare = await openBare(location)
  async function* bytes(): AsyncGenerator<Buffer> {
    yield Buffer.from(dump)
  }
  try {
    await loadDumps(bare, [bytes()], (line) => void lines.push(line), choice)
  } finally {
    await bare.close()
  }
  return lines.join('\n')
}

const ROOT = `INSERT INTO users (id, username, password, role, status, quota)
  VALUES (1,'root','',100,1,5);`

const ONE_HUB_DUMP = `/*!40101 SET NAMES utf8mb4 */;
${ROOT}
INSERT INTO prices (model, type, channel_type, input, output) VALUES ('my-own-model','tokens',1,0.5,1.5),
  ('free','tokens',1,0,0),('drawn','times',1,20,20),('told','tokens',1,0,3);
INSERT INTO \`user_groups\` (id, symbol, name, ratio, public, enable) VALUES (1,'default','',1.00,0,1),
  (2,'vip','fast',3.00,1,1),(3,'old','gone',2.00,1,0);
INSERT INTO channels (id, type, \`key\`, status, name, models, proxy, only_chat)
  VALUES (1,28,'sk-deepseek',1,'c','m','',0);
INSERT INTO tokens (id, user_id, \`key\`, status, name, remain_quota, setting)
  VALUES (1,1,'k',1,'t',5,'{"limits":{"limit_model_setting":{"enabled":true,"models":["m"]}}}');`

test.each(NEW_DATABASES)("One Hub's dump comes into %s with its prices", async (_engine, open) => {
  const database = await open()
  const said = await load(database, ONE_HUB_DUMP)
  expect(said).toContain('4 prices of One Hub were taken over')
  expect(said).not.toContain('is skipped')
  await adopt(database)
  expect(await channelsOf(database)).toMatchObject([{ type: 36, status: 1 }])
  expect(await database.rows('SELECT models FROM tokens')).toEqual([{ models: 'm' }])
  expect(await optionsOf(database)).toEqual(ONE_HUB_OPTIONS)
})

test.each(NEW_DATABASES)("New API's dump comes into %s with its types", async (_engine, open) => {
  const database = await open()
  const said = await load(
    database,
    `/*!40101 SET NAMES utf8mb4 */;
    ${ROOT}
    INSERT INTO prices (model, type, input, output) VALUES ('m','tokens',1,1);
    INSERT INTO channels (id, type, \`key\`, status, name, models, auto_ban, status_code_mapping)
      VALUES (1,43,'sk-deepseek',1,'c','m',1,''), (2,52,'sk-vidu',1,'c','m',1,'');`,
  )
  expect(said).toContain(
    'channels of New API’s type 52 have no counterpart here and are disabled: 2',
  )
  expect(said).toContain('table prices does not belong to One API and is skipped')
  await adopt(database)
  expect(await channelsOf(database)).toMatchObject([
    { type: 36, status: 1 },
    { type: 8, status: 2 },
  ])
})

const FACTOR_DUMP = `/*!40101 SET NAMES utf8mb4 */;
${ROOT}
INSERT INTO users (id, username, password, role, status, quota, totp_secret) VALUES
  (2,'two','',1,1,5,NULL), (3,'three','',1,1,5,'JBSWY3DPEHPK3PXP');
INSERT INTO two_fas (id, user_id, secret, is_enabled, created_at, deleted_at) VALUES
  (1,1,'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',1,'2026-01-02 03:04:05.000',NULL);
INSERT INTO two_fa_backup_codes (id, user_id, code_hash, is_used, deleted_at) VALUES
  (1,1,'${BACKUP_HASH}',0,NULL);
INSERT INTO passkey_credentials (id, user_id, credential_id, public_key, sign_count, transports,
  deleted_at) VALUES (1,2,'+/8BAg==','pQECAw==',7,'["internal"]',NULL);
INSERT INTO passkeys (id, user_id, body) VALUES (1,2,'of another program');`

test.each(NEW_DATABASES)('second factors of a dump come into %s', async (_engine, open) => {
  const database = await open()
  await expect(load(database, FACTOR_DUMP)).rejects.toThrow(
    /1 rows of the table dumped_passkeys look like second factors.* \(2\).*--accept-losses/,
  )
  await load(database, FACTOR_DUMP, { acceptsLosses: true })
  expect(
    await database.rows('SELECT user_id, secret FROM second_factors ORDER BY user_id'),
  ).toMatchObject([{ secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }, { secret: 'JBSWY3DPEHPK3PXP' }])
  expect(await database.rows('SELECT code_hash FROM recovery_codes')).toEqual([
    { code_hash: BACKUP_HASH },
  ])
  expect(await database.rows('SELECT credential_id, counter FROM passkeys')).toMatchObject([
    { credential_id: '-_8BAg' },
  ])
  // The dumped secrets are stored once only.
  for (const sql of ['SELECT * FROM two_fas', 'SELECT totp_secret FROM users']) {
    await expect((async () => database.rows(sql))()).rejects.toThrow(/two_fas|totp_secret/)
  }
})

test.each([
  [['type', 'config', 'system_prompt'], null],
  [['type', 'config', 'auto_ban', 'status_code_mapping'], 'New API'],
  [['type', 'channel_info'], 'New API'],
  [['type', 'proxy', 'only_chat'], 'One Hub'],
  [['type', 'proxy'], null],
  [['type', 'proxy', 'only_chat', 'channel_info'], null],
  // One API had the database again since.
  [['type', 'auto_ban', 'status_code_mapping', 'config'], null],
])('columns %j are of %s', (columns, relative) => {
  expect(relativeOf(new Map([['channels', new Set(columns)]]))).toBe(relative)
})
