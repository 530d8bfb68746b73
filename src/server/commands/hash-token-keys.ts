import { ConfigError, type Config } from '../config.ts'
import { hashTokenKeys } from '../token/token-key-store.ts'
import { configuredAddress, openConfigured, placeOf, whyOf } from './open.ts'
import { openOurs } from './open-ours.ts'

/** Replaces the stored keys of all tokens with hashes, beside running servers. */
export async function hashTokenKeysCommand(
  config: Config,
  { isDryRun }: { isDryRun: boolean },
): Promise<void> {
  // Checked first, because `openConfigured` alone would create or adopt tables at a wrong address.
  await (await openOurs(config)).close()
  const database = await openConfigured(config)
  try {
    const count = await hashTokenKeys(database, { isDryRun })
    const lines = isDryRun
      ? [
          `dry run: the keys of ${count} tokens would be replaced by hashes`,
          'This cannot be undone: the tokens keep working here, but nobody can show or copy their keys again, and One API cannot use them.',
        ]
      : [`the keys of ${count} tokens were replaced by hashes; the tokens work as before`]
    for (const line of lines) process.stdout.write(`${line}\n`)
  } catch (error) {
    const address = configuredAddress(config)
    const reason = whyOf(address, error, { readonly: false })
    throw new ConfigError(`${placeOf(address)} failed, try again: ${reason}`)
  } finally {
    await database.close().catch(() => {})
  }
}
