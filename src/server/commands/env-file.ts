import fs from 'node:fs'
import path from 'node:path'
import { ConfigError } from '../config.ts'
import { fileReason } from '../file-error.ts'

/**
 * Returns the variables in the `.env` file of a folder; empty without a file. Throws `ConfigError`
 * if it cannot be read.
 */
export function readEnvFile(folder: string): Record<string, string> {
  const variables: Record<string, string> = {}
  for (const line of textOf(path.join(folder, '.env')).split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)$/.exec(line)
    if (match?.[1] === undefined || match[2] === undefined) continue
    variables[match[1]] = writtenValue(match[2])
  }
  return variables
}

function textOf(file: string): string {
  if (!fs.existsSync(file)) return ''
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`${file} cannot be read: ${fileReason(error) ?? String(error)}`)
  }
}

/** Parses a value. A comment begins with a number sign after a blank, outside quotes. */
function writtenValue(text: string): string {
  const quoted = /^\s*(['"])(.*?)\1\s*(?:#.*)?$/.exec(text)?.[2]
  return quoted ?? text.replace(/\s#.*$/, '').trim()
}
