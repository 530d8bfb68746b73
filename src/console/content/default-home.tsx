import { useTranslation } from 'react-i18next'
import { publicBase } from '../app/base.ts'
import { LinkButton } from '../app/link-button.tsx'
import { useHasPage } from '../app/routing/pages.ts'
import { useSessionUser } from '../app/session.ts'
import { systemName, useMayRegister, useStatus } from '../app/status.ts'
import { paths } from '../paths.ts'
import { CodeBlock } from '../ui/copy/copy-button.tsx'
import { Page, Panel } from '../ui/page.tsx'
import styles from './content.module.css'
import { curlExample, environmentExample, pythonExample } from './examples.ts'

function FirstStep() {
  const { t } = useTranslation()
  const user = useSessionUser()
  const mayRegister = useMayRegister()
  const hasPage = useHasPage()
  if (user !== null) {
    return (
      <>
        <p>{t('在「令牌」页创建一个令牌，它就是程序要用的密钥')}</p>
        <div className={styles['follow']}>
          <LinkButton to={paths.token} variant="default">
            {t('打开令牌')}
          </LinkButton>
        </div>
      </>
    )
  }
  return (
    <>
      <p>{t('登录后创建一个令牌，它就是程序要用的密钥')}</p>
      <div className={styles['follow']}>
        <LinkButton to={paths.login}>{t('登录')}</LinkButton>
        {mayRegister && hasPage(paths.register) && (
          <LinkButton to={paths.register} variant="default">
            {t('注册')}
          </LinkButton>
        )}
      </div>
    </>
  )
}

/** Default home page, until the operator writes one: how to call the gateway. */
export function DefaultHome() {
  const { t } = useTranslation()
  const user = useSessionUser()
  const status = useStatus()
  const base = publicBase(status.server_address ?? '')
  return (
    <Page
      title={systemName(status)}
      facts={t('一个地址、一个令牌，调用所有已接入的模型')}
      actions={user !== null && <LinkButton to={paths.tokenAdd}>{t('添加令牌')}</LinkButton>}
    >
      <div className={styles['steps']}>
        <Panel title={t('1. 准备令牌')}>
          <FirstStep />
        </Panel>
        <Panel title={t('2. 填写地址')}>
          <p className={styles['lead']}>{t('使用 OpenAI 接口的程序，只需换掉地址和密钥')}</p>
          <CodeBlock code={environmentExample(base)} />
        </Panel>
        <Panel title={t('3. 发出第一个请求')}>
          <div className={styles['examples']}>
            <div>
              <p className={styles['lead']}>{t('在终端里')}</p>
              <CodeBlock code={curlExample(base)} />
            </div>
            <div>
              <p className={styles['lead']}>{t('在 Python 里')}</p>
              <CodeBlock code={pythonExample(base)} />
            </div>
          </div>
        </Panel>
      </div>
    </Page>
  )
}
