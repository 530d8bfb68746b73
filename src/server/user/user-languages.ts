import type { Language } from '../../contract/errors.ts'
import type { App } from '../app.ts'
import { allLanguages, languageOfUser, saveLanguage } from './user-language-store.ts'

/**
 * Stores the language in which each user last used the console. All languages are kept in memory,
 * because every API error needs one; changes are announced to the other processes.
 */
export interface UserLanguages {
  /** Returns the user's language, or null if unknown. */
  of(userId: number): Language | null
  /** Sets the language, and stores it in the background if it has changed. Never throws. */
  remember(userId: number, language: Language): void
}

const CHANGED = 'language'

export async function createUserLanguages({
  database,
  background,
}: Pick<App, 'database' | 'background'>): Promise<UserLanguages> {
  const known = new Map(await allLanguages(database.read))

  async function reload(message: string): Promise<void> {
    const [noun, id] = message.split(':')
    if (noun === 'everything') {
      for (const [userId, language] of await allLanguages(database.read)) {
        known.set(userId, language)
      }
    }
    if (noun !== CHANGED) return
    const language = await languageOfUser(database.read, Number(id))
    if (language !== null) known.set(Number(id), language)
  }
  database.onAnnouncement((message) => {
    if (message !== 'everything' && !message.startsWith(`${CHANGED}:`)) return
    background.run('users', 'user language', () => reload(message))
  })

  return {
    of: (userId) => known.get(userId) ?? null,
    remember(userId, language) {
      if (known.get(userId) === language) return
      known.set(userId, language)
      background.run('users', 'user language', async () => {
        await saveLanguage(database.write, userId, language)
        await database.announce(`${CHANGED}:${userId}`)
      })
    },
  }
}
