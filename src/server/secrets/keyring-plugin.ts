import type { KyselyPlugin, PluginTransformResultArgs, PluginTransformQueryArgs } from 'kysely'
import type { Queries } from '../db/database.ts'
import { NO_KEYS, type Keyring } from './keyring.ts'

/**
 * Carries the keyring to the stores with the handle of the database, also into transactions. It
 * changes neither queries nor results.
 */
export class KeyringPlugin implements KyselyPlugin {
  readonly keyring: Keyring

  constructor(keyring: Keyring) {
    this.keyring = keyring
  }

  transformQuery({ node }: PluginTransformQueryArgs) {
    return node
  }

  transformResult({ result }: PluginTransformResultArgs) {
    return Promise.resolve(result)
  }
}

/** Returns the keyring of a handle; one without keys if it was opened without. */
export function keyringIn(db: Queries): Keyring {
  const plugin = db.getExecutor().plugins.find((one) => one instanceof KeyringPlugin)
  return plugin?.keyring ?? NO_KEYS
}
