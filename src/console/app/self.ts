import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { Self } from '../../contract/user-api.ts'
import { paths } from '../paths.ts'
import { CallFailure } from './call-client.ts'
import { call, report } from './call.ts'
import { t } from './i18n.ts'
import { sessionUser, setSessionUser } from './session.ts'
import { readStored, writeStored } from './stored.ts'
import { toast } from './toast.ts'

const askSelf = (signal: AbortSignal) =>
  call('GET /api/user/self', {}, { signal, background: true })

/** A banned user is told so once, which ends the session; the second call finds nobody signed in. */
async function askSelfTwice(signal: AbortSignal): Promise<Self> {
  try {
    return await askSelf(signal)
  } catch (error) {
    if (!(error instanceof CallFailure && error.refused)) throw error
    report(error)
    return askSelf(signal)
  }
}

/** The signed-in person as the server knows them now. */
export const selfQuery = queryOptions({
  queryKey: ['self'],
  queryFn: async ({ signal, client, queryKey }) => {
    try {
      return await askSelfTwice(signal)
    } catch (error) {
      // Pages wait for the first answer; later ones only bring it up to date.
      const isWaitedFor = client.getQueryData(queryKey) === undefined
      if (error instanceof CallFailure && isWaitedFor) report(error)
      throw error
    }
  },
})

/** Asks again with every page and whenever the window is looked at, and remembers the answer. */
export function useFollowSelf(client: QueryClient): void {
  const { data, refetch } = useQuery({ ...selfQuery, refetchOnWindowFocus: 'always' }, client)
  const pathname = useLocation({ select: (location) => location.pathname })
  const seen = useRef(pathname)
  useEffect(() => {
    if (seen.current === pathname) return
    seen.current = pathname
    // Signing out leads there, while it is still known here who it was.
    if (pathname === paths.login) return
    void refetch()
  }, [pathname, refetch])
  useEffect(() => {
    if (data === undefined) return
    follow(data)
    warnOfProxy(data)
  }, [data])
}

/** The setting that was shown since this page of the browser was loaded. */
let shownSetting: string | undefined

/** Tells root of a proxy whose headers are ignored, until the notice has been closed once. */
function warnOfProxy({ ignored_proxy: proxy }: Self): void {
  if (proxy === undefined || proxy.setting === shownSetting) return
  shownSetting = proxy.setting
  if (readStored('ignored_proxy') === proxy.setting) return
  toast.notice(
    t(
      '来自 {{address}} 的转发请求头未被采用，所有访客共用一个限流额度，一人即可使所有人无法登录。如果它是您的反向代理，请设置 {{setting}} 并重启',
      { ...proxy },
    ),
    () => writeStored('ignored_proxy', proxy.setting),
  )
}

/** Shows a new role or name without signing in again. */
function follow({ id, username, display_name, role }: Self): void {
  const user = sessionUser()
  if (user?.id !== id) return
  const isSame =
    user.username === username && user.display_name === display_name && user.role === role
  if (!isSame) setSessionUser({ ...user, username, display_name, role })
}
