import i18n, { type FormatterModule } from 'i18next'
import { initReactI18next } from 'react-i18next'
import { readStored, writeStored } from './local-storage.ts'
import { toast } from './toast.ts'

export type ConsoleLanguage = 'zh' | 'en'

/** Value of `Accept-Language` in requests and of `lang` on the page. */
const languageTags: Record<ConsoleLanguage, string> = { zh: 'zh-CN', en: 'en' }

/**
 * Texts are written in Chinese where they are displayed; the Chinese text is its own key. Chinese
 * needs no table, and the English table is loaded only for English readers.
 */
export const { t } = i18n

/** Marks a text that is declared in a table and translated where it is displayed. */
export const mark = <Text extends string>(text: Text): Text => text

export const currentLanguage = (): ConsoleLanguage => (i18n.language === 'en' ? 'en' : 'zh')
export const languageTag = (): string => languageTags[currentLanguage()]

/** Returns the text in the current language. */
export const localText = (words: Readonly<Record<ConsoleLanguage, string>>): string =>
  words[currentLanguage()]

/** Counts get thousands separators; ids, statuses and page numbers do not. */
const counts = ['count', 'total']
/** Titles that English inserts within a sentence, in lower case. */
const titlePlaceholders = ['prompt']
const placeFormatter: FormatterModule = {
  type: 'formatter',
  init() {},
  add() {},
  addCached() {},
  format(value, _format, language, options) {
    const place = String(options?.['interpolationkey'])
    if (typeof value === 'number' && counts.includes(place)) return value.toLocaleString('en-US')
    if (language !== 'en' || !titlePlaceholders.includes(place)) return value
    return String(value).replace(/^\p{Lu}(?!\p{Lu})/u, (first) => first.toLowerCase())
  },
}

export async function startI18n(): Promise<void> {
  i18n.use(initReactI18next).use(placeFormatter)
  await i18n.init({
    lng: 'zh',
    fallbackLng: false,
    keySeparator: false,
    nsSeparator: false,
    interpolation: { escapeValue: false, alwaysFormat: true },
    react: { useSuspense: false },
  })
  if (readStored('language') === 'en') await setLanguage('en')
}

export async function setLanguage(language: ConsoleLanguage): Promise<void> {
  if (language === 'en' && !i18n.hasResourceBundle('en', 'translation')) {
    const texts = await import('./en.json').catch(() => null)
    if (texts === null) {
      // Without the table the console stays in Chinese, which an English reader may not understand.
      toast.error(t('英文文本加载失败，请刷新页面。Could not load English. Reload the page'))
      return
    }
    i18n.addResourceBundle('en', 'translation', texts.default)
  }
  await i18n.changeLanguage(language)
  document.documentElement.lang = languageTags[language]
  writeStored('language', language)
}
