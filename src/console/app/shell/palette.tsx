import '@mantine/core/styles/Modal.layer.css'
import '@mantine/core/styles/ModalBase.layer.css'
import '@mantine/core/styles/Overlay.layer.css'
import '@mantine/core/styles/Paper.layer.css'
import '@mantine/core/styles/Input.layer.css'
import '@mantine/spotlight/styles.layer.css'
import { useMantineColorScheme } from '@mantine/core'
import { createSpotlight, Spotlight } from '@mantine/spotlight'
import { useNavigate } from '@tanstack/react-router'
import { type RefCallback, useCallback, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { paths } from '../../paths.ts'
import { currentLanguage, setLanguage } from '../i18n.ts'
import { type PageRoute, usePages } from '../routing/pages.ts'
import { mayOpen, useSessionUser } from '../session.ts'
import { useStatus } from '../status.ts'
import styles from './shell.module.css'
import { useSignOut } from './sign-out.ts'

const [store, palette] = createSpotlight()

/**
 * Whether the palette lists a page: pages without a parameter, except those for visitors (sign-in,
 * registration, callbacks). The chat page requires a configured link.
 */
const isPlace = ({ path, access, inMenu }: PageRoute, hasChat: boolean): boolean =>
  !path.includes('$') &&
  (access !== 'anyone' || inMenu === true) &&
  (path !== paths.chat || hasChat)

export const openPalette = palette.open

interface Entry {
  id: string
  group: string
  label: string
  /** Additional search terms. */
  keywords: readonly string[]
  onChoose: () => void
}

function usePlaces(): Entry[] {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const pages = usePages()
  const user = useSessionUser()
  const { chat_link: chatLink } = useStatus()
  return pages
    .filter((page) => isPlace(page, Boolean(chatLink)) && mayOpen(page.access, user))
    .map(({ path, title }) => ({
      id: path,
      group: t('前往'),
      label: t(title),
      keywords: [title, path],
      onChoose: () => void navigate({ to: path }),
    }))
}

function useActs(): Entry[] {
  const { t } = useTranslation()
  const signOut = useSignOut()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const otherLanguage = currentLanguage() === 'zh' ? 'en' : 'zh'
  const group = t('操作')
  return [
    {
      id: 'language',
      group,
      label: otherLanguage === 'en' ? 'English' : '中文',
      keywords: ['language', t('语言')],
      onChoose: () => void setLanguage(otherLanguage),
    },
    {
      id: 'scheme',
      group,
      label: colorScheme === 'dark' ? t('浅色外观') : t('深色外观'),
      keywords: ['dark', 'light', 'theme'],
      onChoose: () => setColorScheme(colorScheme === 'dark' ? 'light' : 'dark'),
    },
    { id: 'sign-out', group, label: t('退出登录'), keywords: [], onChoose: () => void signOut() },
  ]
}

interface Group {
  name: string
  entries: readonly Entry[]
}

/** Entries that contain the query; those whose label contains it first. */
function found(entries: readonly Entry[], query: string): Group[] {
  const words = query.trim().toLowerCase()
  const holds = (text: string) => text.toLowerCase().includes(words)
  const hits = [
    ...entries.filter(({ label }) => holds(label)),
    ...entries.filter(({ label, keywords }) => !holds(label) && keywords.some(holds)),
  ]
  return [...new Set(hits.map(({ group }) => group))].map((name) => ({
    name,
    entries: hits.filter(({ group }) => group === name),
  }))
}

const LIST_ID = 'palette-list'
const elementId = ({ id }: Entry) => `palette-${id}`
/** Spotlight does not expose ids, but the field must reference the active entry by one. */
const withId =
  (entry: Entry): RefCallback<HTMLElement> =>
  (element) => {
    if (element !== null) element.id = elementId(entry)
  }

/** Id of the active entry. Spotlight only marks it on the element itself. */
function useActiveEntry() {
  const [marked, setMarked] = useState<string>()
  const follow = useCallback((list: HTMLElement | null) => {
    if (list === null) return undefined
    const read = () => setMarked(list.querySelector('[data-selected]')?.id)
    const observer = new MutationObserver(read)
    observer.observe(list, { subtree: true, childList: true, attributeFilter: ['data-selected'] })
    return () => {
      observer.disconnect()
      setMarked(undefined)
    }
  }, [])
  return { marked, follow }
}

/** Announces the number of results while the user types; the list itself is silent. */
function Outcome({ query, count }: { query: string; count: number }) {
  const { t } = useTranslation()
  const said = count === 0 ? t('没有找到') : t('找到 {{count}} 项', { count })
  return <output className="sr-only">{query.trim() === '' ? '' : said}</output>
}

function GroupOfEntries({ group, marked }: { group: Group; marked: string | undefined }) {
  return (
    <Spotlight.ActionsGroup
      label={group.name}
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- the widget's own element
      role="group"
      aria-label={group.name}
    >
      {group.entries.map((entry) => (
        <Spotlight.Action
          key={entry.id}
          ref={withId(entry)}
          label={entry.label}
          highlightQuery
          // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- the widget's own element
          role="option"
          aria-selected={elementId(entry) === marked}
          onClick={entry.onChoose}
        />
      ))}
    </Spotlight.ActionsGroup>
  )
}

export function Palette() {
  const { t } = useTranslation()
  const [query, setQuery] = useState('')
  const { marked, follow } = useActiveEntry()
  const groups = found([...usePlaces(), ...useActs()], query)
  const count = groups.reduce((sum, { entries }) => sum + entries.length, 0)
  return (
    <Spotlight.Root
      store={store}
      shortcut={null}
      query={query}
      onQueryChange={setQuery}
      attributes={{ content: { 'aria-label': t('搜索或跳转') } }}
      scrollable
      maxHeight={400}
      overlayProps={{ backgroundOpacity: 1, color: 'var(--veil)' }}
      transitionProps={{ duration: 120 }}
    >
      <Spotlight.Search
        placeholder={t('搜索或跳转')}
        aria-label={t('搜索或跳转')}
        // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- the widget's own element
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={count > 0}
        aria-controls={count > 0 ? LIST_ID : undefined}
        aria-activedescendant={marked}
      />
      <Outcome query={query} count={count} />
      {count > 0 ? (
        <Spotlight.ActionsList className={styles['paletteList'] ?? ''}>
          <div
            ref={follow}
            id={LIST_ID}
            // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- holds the widget's items
            role="listbox"
            aria-label={t('搜索或跳转')}
          >
            {groups.map((group) => (
              <GroupOfEntries key={group.name} group={group} marked={marked} />
            ))}
          </div>
        </Spotlight.ActionsList>
      ) : (
        <Spotlight.Empty>{t('没有找到')}</Spotlight.Empty>
      )}
    </Spotlight.Root>
  )
}
