import { useTranslation } from 'react-i18next'
import { useStatus } from '../app/status.ts'
import { Page } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'
import { ForeignPage } from './content.tsx'
import { frameAddress } from './frame-address.ts'

/** The operator's chat application in a frame. */
export function ChatPage() {
  const { t } = useTranslation()
  const link = useStatus().chat_link ?? ''
  const address = frameAddress(link, location.origin)
  if (address !== null) {
    return (
      <>
        <h1 className="sr-only">{t('聊天')}</h1>
        <ForeignPage address={address} title={t('聊天')} />
      </>
    )
  }
  return (
    <Page title={t('聊天')}>
      {link === '' ? (
        <Empty sentence={t('管理员还没有设置聊天链接')} />
      ) : (
        <Empty
          sentence={t('聊天链接不能在框架中打开：它需要以 https:// 开头，并且在另一个网站上')}
          action={
            <a href={link} target="_blank" rel="noopener noreferrer">
              {t('在新窗口打开')}
            </a>
          }
        />
      )}
    </Page>
  )
}
