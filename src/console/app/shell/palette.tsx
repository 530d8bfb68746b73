import '@mantine/core/styles/Modal.layer.css'
import '@mantine/core/styles/ModalBase.layer.css'
import '@mantine/core/styles/Overlay.layer.css'
import '@mantine/core/styles/Paper.layer.css'
import '@mantine/core/styles/Input.layer.css'
import '@mantine/spotlight/styles.layer.css'
import { useMantineColorScheme } from '@mantine/core'
import { createSpotlight, Spotlight, type SpotlightActionData } from '@mantine/spotlight'
import { useNavigate } from '@tanstack/react-router'
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
 * Places the palette can go to: pages without a parameter. What only visitors need (signing in,
 * registering, coming back from elsewhere) is none for who is signed in, the chat one with a link.
 */
const isPlace = ({ path, access, inMenu }: PageRoute, hasChat: boolean): boolean =>
  !path.includes('$') &&
  (access !== 'anyone' || inMenu === true) &&
  (path !== paths.chat || hasChat)

export const openPalette = palette.open

export function Palette() {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const pages = usePages()
  const user = useSessionUser()
  const { chat_link: chatLink } = useStatus()
  const signOut = useSignOut()
  const { colorScheme, setColorScheme } = useMantineColorScheme()

  const places: SpotlightActionData[] = pages
    .filter((page) => isPlace(page, Boolean(chatLink)) && mayOpen(page.access, user))
    .map((page) => ({
      id: page.path,
      label: t(page.title),
      keywords: [page.title, page.path],
      onClick: () => void navigate({ to: page.path }),
    }))
  const otherLanguage = currentLanguage() === 'zh' ? 'en' : 'zh'
  const acts: SpotlightActionData[] = [
    {
      id: 'language',
      label: otherLanguage === 'en' ? 'English' : '中文',
      keywords: ['language', t('语言')],
      onClick: () => void setLanguage(otherLanguage),
    },
    {
      id: 'scheme',
      label: colorScheme === 'dark' ? t('浅色外观') : t('深色外观'),
      keywords: ['dark', 'light', 'theme'],
      onClick: () => setColorScheme(colorScheme === 'dark' ? 'light' : 'dark'),
    },
    { id: 'sign-out', label: t('退出登录'), onClick: () => void signOut() },
  ]
  return (
    <Spotlight
      store={store}
      shortcut={null}
      classNames={{ actionsList: styles['paletteList'] ?? '' }}
      attributes={{ content: { 'aria-label': t('搜索或跳转') } }}
      actions={[
        { group: t('前往'), actions: places },
        { group: t('操作'), actions: acts },
      ]}
      nothingFound={t('没有找到')}
      highlightQuery
      scrollable
      maxHeight={400}
      searchProps={{ placeholder: t('搜索或跳转'), 'aria-label': t('搜索或跳转') }}
      overlayProps={{ backgroundOpacity: 1, color: 'var(--veil)' }}
      transitionProps={{ duration: 120 }}
    />
  )
}
