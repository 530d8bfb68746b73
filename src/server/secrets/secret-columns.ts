import { holdsSecrets, isOptionKey } from '../../contract/option/options.ts'
import { parseConfigObject, secretsSet } from '../channel/channel-config.ts'
import { TOKEN_HASH_KEY } from '../db/setting-names.ts'

/** A column whose values are encrypted if encryption is on. */
export interface SecretColumn {
  table: 'channels' | 'options' | 'second_factors' | 'settings'
  column: 'key' | 'config' | 'value' | 'secret'
  /** Column that identifies the row. */
  id: 'id' | 'key' | 'user_id' | 'name'
  /** Whether this plain value is a secret. */
  isSecret(rowId: string, text: string): boolean
}

const always = (): boolean => true

/** Whether a channel's configuration has credentials, or may have some because it is invalid. */
function holdsCredentials(text: string): boolean {
  const config = parseConfigObject(text)
  return config === null || secretsSet(config).length > 0
}

/** All columns that are encrypted, by the name that authenticates their values. */
export const secretColumns = {
  'channels.key': { table: 'channels', column: 'key', id: 'id', isSecret: always },
  'channels.config': {
    table: 'channels',
    column: 'config',
    id: 'id',
    isSecret: (_id, text) => holdsCredentials(text),
  },
  'options.value': {
    table: 'options',
    column: 'value',
    id: 'key',
    isSecret: (key) => isOptionKey(key) && holdsSecrets(key),
  },
  'second_factors.secret': {
    table: 'second_factors',
    column: 'secret',
    id: 'user_id',
    isSecret: always,
  },
  'settings.value': {
    table: 'settings',
    column: 'value',
    id: 'name',
    isSecret: (name) => name === TOKEN_HASH_KEY,
  },
} as const satisfies Record<string, SecretColumn>

export type SecretColumnName = keyof typeof secretColumns

/** Returns what is authenticated with a value: the same text is invalid in another row. */
export const placeOf = (name: SecretColumnName, rowId: string | number): string =>
  `${name} ${rowId}`
