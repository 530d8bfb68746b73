import { describe, expect, test } from 'vitest'
import { columnValue, type DumpValue, type Repairs } from './dump-value.ts'
import { readDump } from './read-dump.ts'

/** Everything wanted of a dump that arrives in pieces of `size` bytes. */
async function read(dump: string | Buffer, size = 7, others: string[] = []) {
  const bytes = Buffer.from(dump)
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  const found: { table: string; columns: readonly string[]; rows: DumpValue[][] }[] = []
  const options = {
    isWanted: (table: string) => ['t', 'u'].includes(table),
    onOtherTable: (table: string) => void others.push(table),
  }
  for await (const batch of readDump(chunks(), options)) found.push(batch)
  return found
}

const TABLE = 'CREATE TABLE `t` (`a` bigint(20) NOT NULL, `b` text, PRIMARY KEY (`a`));\n'

const rowsOf = async (dump: string | Buffer, size?: number): Promise<DumpValue[][]> =>
  (await read(dump, size)).flatMap(({ rows }) => rows)

const value = async (literal: string | Buffer): Promise<DumpValue | undefined> => {
  const dump = Buffer.concat([
    Buffer.from('INSERT INTO t (a) VALUES ('),
    Buffer.from(literal),
    Buffer.from(');'),
  ])
  return (await rowsOf(dump))[0]?.[0]
}

describe('a literal', () => {
  test.each<[string, DumpValue]>([
    ['NULL', null],
    ['null', null],
    ['0', 0],
    ['-1', -1],
    ['9007199254740993', 9_007_199_254_740_993n],
    ['0.5', 0.5],
    ['-1.25e-3', -0.00125],
    ['.5', 0.5],
    ['TRUE', true],
    ["''", ''],
    ["'it''s'", "it's"],
    ["'a\\'b\\\"c\\\\d'", 'a\'b"c\\d'],
    ["'\\0\\b\\n\\r\\t\\Z'", '\0\b\n\r\t\x1a'],
    ["'100\\% \\_ \\x'", '100\\% \\_ x'],
    ['\'say "hi"\'', 'say "hi"'],
    ['"double \'quoted\' ""text"""', 'double \'quoted\' "text"'],
    ["'渠道 ＄'", '渠道 ＄'],
    ["'a;b),(c -- d /* e */ # f'", 'a;b),(c -- d /* e */ # f'],
    ['0x6869', Buffer.from('hi')],
    ["x'6869'", Buffer.from('hi')],
    ["_binary '\\0x'", '\0x'],
    ["_utf8mb4 'é'", 'é'],
    ["b'101'", 5],
  ])('%s', async (literal, wanted) => {
    expect(await value(literal)).toEqual(wanted)
  })
})

const DUMP = `-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)
/*!40101 SET NAMES utf8mb4 */;
/*!999999\\- enable the sandbox mode */
# a comment; with a 'quote
SET FOREIGN_KEY_CHECKS=0;
DROP TABLE IF EXISTS \`t\`;
CREATE TABLE \`t\` (
  \`a\` bigint unsigned NOT NULL AUTO_INCREMENT COMMENT 'ids, (of course); "all"',
  \`key\` decimal(10,2) DEFAULT '0.00',
  \`b\` enum('x','y)') /*!80023 INVISIBLE */ DEFAULT NULL,
  PRIMARY KEY (\`a\`),
  UNIQUE KEY \`one\` (\`b\`(10)),
  CONSTRAINT \`c\` FOREIGN KEY (\`a\`) REFERENCES \`u\` (\`a\`)
) ENGINE=InnoDB AUTO_INCREMENT=3 COMMENT='a; table';
LOCK TABLES \`t\` WRITE;
/*!40000 ALTER TABLE \`t\` DISABLE KEYS */;
INSERT INTO \`t\` VALUES
(1,'first',NULL),
(2,'semi;colon -- no comment','y)'), -- a comment
  (3 , 'it''s' , 'z') ;
INSERT IGNORE INTO \`one\`.\`t\` (\`b\`, \`a\`) VALUE ('later',4) ON DUPLICATE KEY UPDATE b = ';';
REPLACE INTO other (a, b) SELECT 1, 2;
INSERT INTO other SET a = 1;
INSERT INTO other VALUES (now(), ')', "("), (1, point(1, 2), 'x');
DELIMITER ;;
CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET @x = 1; INSERT INTO t VALUES (9,'',''); END ;;
DELIMITER ;
UNLOCK TABLES;
-- Dump completed on 2026-11-21 17:00:00
`

const WANTED = [
  {
    table: 't',
    columns: ['a', 'key', 'b'],
    rows: [
      [1, 'first', null],
      [2, 'semi;colon -- no comment', 'y)'],
      [3, "it's", 'z'],
    ],
  },
  { table: 't', columns: ['b', 'a'], rows: [['later', 4]] },
]

test('a dump is read alike wherever its pieces are cut', async () => {
  for (const size of [1, 2, 3, 5, 64, 1_000_000]) {
    const others: string[] = []
    expect(await read(DUMP, size, others)).toEqual(WANTED)
    expect(others).toEqual(['other'])
  }
})

test('a long row, and many rows in one statement, arrive whole and in their order', async () => {
  const long = `'${'x\\n'.repeat(100_000)}'`
  const tuples = Array.from({ length: 1200 }, (_, at) => `(${at},${at === 600 ? long : "'s'"})`)
  const found = await read(`${TABLE}INSERT INTO t VALUES ${tuples.join(',')};`, 4096)
  expect(found.map(({ rows }) => rows.length)).toEqual([500, 500, 200])
  const rows = found.flatMap((batch) => batch.rows)
  expect(rows.map(([a]) => a)).toEqual(tuples.map((_, at) => at))
  expect(String(rows[600]?.[1])).toHaveLength(200_000)
})

test('the character set that the dump names is used', async () => {
  const latin = Buffer.concat([
    Buffer.from(`/*!40101 SET NAMES latin1 */;\nINSERT INTO t (a) VALUES ('caf`),
    Buffer.from([0xe9]),
    Buffer.from("');"),
  ])
  expect(await rowsOf(latin)).toEqual([['café']])
  await expect(read("SET NAMES 'gbk';")).rejects.toThrow('--default-character-set=utf8mb4')
})

test.each([
  ['in UTF-16', Buffer.from('\u{feff}-- MySQL dump', 'utf16le'), 'UTF-16'],
  ['in UTF-16 without a mark', Buffer.from('-- MySQL dump', 'utf16le'), 'UTF-16'],
  ['without columns', "INSERT INTO t VALUES (1,'x');", 'the columns of t are not in the dump'],
  ['with too few values', `${TABLE}INSERT INTO t VALUES (1);`, '1 values for 2 columns'],
  ['cut off in a text', `${TABLE}INSERT INTO t VALUES (1,'x`, 'cut off'],
  ['cut off in a row', `${TABLE}INSERT INTO t VALUES (1,`, 'cut off where a value was expected'],
  ['cut off between rows', `${TABLE}INSERT INTO t VALUES (1,'x'),`, 'middle of its rows'],
  ['cut off before its end', `-- MariaDB dump 10.19\n${TABLE}`, 'its closing line is missing'],
  ['of SQLite', 'PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;', 'is from SQLite'],
  ['of PostgreSQL', '--\n-- PostgreSQL database dump\n--\n', 'is from PostgreSQL'],
  ['with rows for COPY', 'COPY public.t (a) FROM stdin;\n1\n\\.\n', 'is from PostgreSQL'],
  [
    'of a browser of SQLite files',
    'BEGIN TRANSACTION;\nCREATE TABLE IF NOT EXISTS "t" (`a` integer);\nINSERT INTO "t" VALUES (1);',
    'is from SQLite',
  ],
  ['with names of SQLite', 'INSERT INTO "t" ("a") VALUES (1);', 'like SQLite and PostgreSQL'],
  [
    'with columns of PostgreSQL',
    'INSERT INTO t (a, "group") VALUES (1);',
    'like SQLite and Postgre',
  ],
  ['with a schema', 'INSERT INTO public.t (a) VALUES (true);', 'like SQLite and PostgreSQL'],
  ['with settings of PostgreSQL', "SET client_encoding = 'UTF8';", 'is from PostgreSQL'],
  [
    'of Navicat from PostgreSQL',
    '/*\n Navicat Premium\n Source Server Type    : PostgreSQL\n*/\n',
    'is from PostgreSQL',
  ],
  ['of Adminer from SQLite', '-- Adminer 4.8.1 SQLite 3 3.40.1 dump\n', 'is from SQLite'],
  ['with a function for a value', 'INSERT INTO t (a) VALUES (now());', 'was expected'],
  [
    'with rows by SET',
    "INSERT INTO t SET a = 1, b = 'x';",
    'rows of t in an INSERT without VALUES',
  ],
  ['with rows by SELECT', 'REPLACE INTO t (a) SELECT 1;', 'rows of t in an INSERT without VALUES'],
  [
    'of two installations',
    'USE `one`;INSERT INTO t (a) VALUES (1);USE `two`;INSERT INTO t (a) VALUES (1);',
    'in one and in two',
  ],
])('a dump %s is refused', async (_what, dump, message) => {
  await expect(read(dump)).rejects.toThrow(message)
})

test('a mark of the byte order before UTF-8 is skipped', async () => {
  expect(await rowsOf('\u{feff}INSERT INTO t (a) VALUES (1);')).toEqual([[1]])
})

test('names between double quotes are taken where the dump says that it is of MySQL', async () => {
  const insert = 'INSERT INTO "t" ("a") VALUES (1);'
  expect(await rowsOf(`/*!40101 SET SQL_MODE='ANSI' */;\n${insert}`)).toEqual([[1]])
  expect(await rowsOf(`SET NAMES utf8mb4;\n${insert}`)).toEqual([[1]])
})

test('values become what the column holds, and what is changed is counted', () => {
  const repairs: Repairs = { undecodable: 0, nuls: 0, misfits: 0 }
  const scope = { keepsNul: false, repairs }
  expect(columnValue('5', 'whole', scope)).toBe(5)
  expect(columnValue(9_007_199_254_740_993n, 'whole', scope)).toBe(9_007_199_254_740_993n)
  expect(columnValue(1.5, 'whole', scope)).toBe(1)
  expect(columnValue(2n ** 64n - 1n, 'whole', scope)).toBe(2n ** 63n - 1n)
  expect(columnValue(-(2n ** 64n), 'whole', scope)).toBe(1n - 2n ** 63n)
  expect(columnValue(1e30, 'whole', scope)).toBe(2n ** 63n - 1n)
  expect(columnValue('no', 'whole', scope)).toBe(0)
  expect(columnValue(Buffer.from([1]), 'flag', scope)).toBe(true)
  expect(columnValue(0, 'flag', scope)).toBe(false)
  expect(columnValue('1', 'flag', scope)).toBe(true)
  expect(() => columnValue('t', 'flag', scope)).toThrow('a flag is "t" where MySQL has 1 or 0')
  expect(columnValue('0.25', 'real', scope)).toBe(0.25)
  expect(columnValue(12, 'text', scope)).toBe('12')
  expect(columnValue('a\0b', 'text', scope)).toBe('ab')
  expect(columnValue('a\0b', 'text', { ...scope, keepsNul: true })).toBe('a\0b')
  expect(columnValue('\u{fffd}', 'text', scope)).toBe('\u{fffd}')
  expect(columnValue(null, 'whole', scope)).toBeNull()
  expect(repairs).toEqual({ undecodable: 1, nuls: 1, misfits: 2 })
})
