import type { Language } from '../../contract/errors.ts'
import type { Queries } from '../db/database.ts'

/** Returns the id and language of every user whose language is known. */
export async function allLanguages(db: Queries): Promise<[number, Language][]> {
  const rows = await db.selectFrom('user_languages').select(['user_id', 'language']).execute()
  return rows.map(({ user_id, language }) => [user_id, languageIn(language)])
}

/** Returns the user's language, or null if unknown. */
export async function languageOfUser(db: Queries, userId: number): Promise<Language | null> {
  const row = await db
    .selectFrom('user_languages')
    .select('language')
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row === undefined ? null : languageIn(row.language)
}

export async function saveLanguage(db: Queries, userId: number, language: Language): Promise<void> {
  await db
    .insertInto('user_languages')
    .values({ user_id: userId, language })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ language }))
    .execute()
}

const languageIn = (stored: string): Language => (stored === 'en' ? 'en' : 'zh')
