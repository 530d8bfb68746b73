import fs from 'node:fs'
import { ConfigError, type Config } from '../config.ts'
import { KEY_PATTERN, keyringOf, NO_KEYS, type Keyring } from './keyring.ts'

/**
 * Reads the configured keys: of `SECRETS_KEY_FILE` one per line, where `#` begins a comment, of
 * `SECRETS_KEY` separated by commas. Throws `ConfigError`, never with a part of a key.
 */
export function readKeyring({ SECRETS_KEY: given, SECRETS_KEY_FILE: file }: Config): Keyring {
  if (given !== undefined && file !== undefined) {
    throw new ConfigError('SECRETS_KEY, SECRETS_KEY_FILE: set only one of them / 只能设置其中一个')
  }
  if (file !== undefined) return keyringFrom('SECRETS_KEY_FILE', linesOf(file))
  return given === undefined ? NO_KEYS : keyringFrom('SECRETS_KEY', given.split(','))
}

function linesOf(file: string): string[] {
  try {
    return fs
      .readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => !line.startsWith('#'))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new ConfigError(
      `SECRETS_KEY_FILE: ${file} cannot be read (${code}); check path and permissions / 无法读取，请检查路径和权限`,
    )
  }
}

function keyringFrom(name: string, texts: readonly string[]): Keyring {
  const keys = texts.map((text) => text.trim()).filter((text) => text !== '')
  if (keys.length === 0 || !keys.every((key) => KEY_PATTERN.test(key))) {
    throw new ConfigError(
      `${name}: each key has 64 hexadecimal digits; create one with: openssl rand -hex 32` +
        ' / 每个密钥为 64 位十六进制数字，可用该命令生成',
    )
  }
  return keyringOf(keys)
}
