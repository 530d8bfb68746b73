import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { ConfigError } from '../config.ts'
import { readEnvFile } from './env-file.ts'

let folder: string
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-env-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true }))
})

test('a .env file is read with comments, quotes and blanks', () => {
  const lines = [
    '# settings',
    'PORT=3100 ',
    'export HOST = 0.0.0.0',
    'SESSION_SECRET="with spaces inside"',
    '',
    'DATA_DIR=./data # where the data is',
    'SQL_DSN= # none',
    "TEST_PROMPT='a # b'\t# what is asked",
    'INITIAL_ROOT_PASSWORD=#with#signs',
  ]
  fs.writeFileSync(path.join(folder, '.env'), lines.join('\n'))
  expect(readEnvFile(folder)).toEqual({
    PORT: '3100',
    HOST: '0.0.0.0',
    SESSION_SECRET: 'with spaces inside',
    DATA_DIR: './data',
    SQL_DSN: '',
    TEST_PROMPT: 'a # b',
    INITIAL_ROOT_PASSWORD: '#with#signs',
  })
  expect(readEnvFile(path.join(folder, 'nowhere'))).toEqual({})
})

test('a .env that is not a file is reported in one line', () => {
  const file = path.join(folder, '.env')
  fs.mkdirSync(file)
  const reason = 'it is a folder, and a file is needed'
  expect(() => readEnvFile(folder)).toThrow(new ConfigError(`${file} cannot be read: ${reason}`))
})
