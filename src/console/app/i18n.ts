import i18n, { type FormatterModule } from 'i18next'
import { initReactI18next } from 'react-i18next'
import { readStored, writeStored } from './stored.ts'
import { toast } from './toast.ts'

export type ConsoleLanguage = 'zh' | 'en'

/** What `Accept-Language` says on each call, and `lang` on the page. */
const languageTags: Record<ConsoleLanguage, string> = { zh: 'zh-CN', en: 'en' }

/**
 * Texts are written in Chinese where they are shown; the Chinese text is its own key, so Chinese
 * needs no table, and the English one is loaded only when somebody reads English.
 */
export const { t } = i18n

/** Names a text that is declared in a table and translated where it is shown. */
export const mark = <Text extends string>(text: Text): Text => text

export const currentLanguage = (): ConsoleLanguage => (i18n.language === 'en' ? 'en' : 'zh')
export const languageTag = (): string => languageTags[currentLanguage()]

/** The text of the current language. */
export const localText = (words: Readonly<Record<ConsoleLanguage, string>>): string =>
  words[currentLanguage()]

/** Numbers of things have their thousands apart; ids, statuses and pages have none. */
const counts = ['count', 'total']
/** Names of things, such as titles, that English has amid a sentence. */
const amid = ['prompt']
const placeFormatter: FormatterModule = {
  type: 'formatter',
  init() {},
  add() {},
  addCached() {},
  format(value, _format, language, options) {
    const place = String(options?.['interpolationkey'])
    if (typeof value === 'number' && counts.includes(place)) return value.toLocaleString('en-US')
    if (language !== 'en' || !amid.includes(place)) return value
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
      // Without them there is Chinese; whoever wants English may not read it.
      toast.error(t('英文文本加载失败，请刷新页面。Could not load English. Reload the page'))
      return
    }
    i18n.addResourceBundle('en', 'translation', texts.default)
  }
  await i18n.changeLanguage(language)
  document.documentElement.lang = languageTags[language]
  writeStored('language', language)
}
