import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { Self } from '../../contract/user-api.ts'
import { paths } from '../paths.ts'
import { CallFailure } from './call-client.ts'
import { call, report } from './call.ts'
import { t } from './i18n.ts'
import { sessionUser, setSessionUser } from './session.ts'
import { readStored, writeStored } from './local-storage.ts'
import { toast } from './toast.ts'

const requestSelf = (signal: AbortSignal) =>
  call('GET /api/user/self', {}, { signal, background: true })

/**
 * The first request of a banned user gets that error and ends the session; a second one gets the
 * sign-in error.
 */
async function requestSelfTwice(signal: AbortSignal): Promise<Self> {
  try {
    return await requestSelf(signal)
  } catch (error) {
    if (!(error instanceof CallFailure && error.refused)) throw error
    report(error)
    return requestSelf(signal)
  }
}

/** The signed-in user as the server currently stores them. */
export const selfQuery = queryOptions({
  queryKey: ['self'],
  queryFn: async ({ signal, client, queryKey }) => {
    try {
      return await requestSelfTwice(signal)
    } catch (error) {
      // Pages wait for the first response; later ones only refresh it.
      const isWaitedFor = client.getQueryData(queryKey) === undefined
      if (error instanceof CallFailure && isWaitedFor) report(error)
      throw error
    }
  },
})

/** Refreshes the user with every page change and window focus, and stores the result. */
export function useFollowSelf(client: QueryClient): void {
  const { data, refetch } = useQuery({ ...selfQuery, refetchOnWindowFocus: 'always' }, client)
  const pathname = useLocation({ select: (location) => location.pathname })
  const seen = useRef(pathname)
  useEffect(() => {
    if (seen.current === pathname) return
    seen.current = pathname
    // Signing out navigates there while the user is still stored.
    if (pathname === paths.login) return
    void refetch()
  }, [pathname, refetch])
  useEffect(() => {
    if (data === undefined) return
    follow(data)
    warnAboutProxy(data)
  }, [data])
}

/** The setting whose notice has been shown since the console was loaded. */
let warnedSetting: string | undefined

/** Warns root about a proxy whose headers are ignored, until the notice has been closed once. */
function warnAboutProxy({ ignored_proxy: proxy }: Self): void {
  if (proxy === undefined || proxy.setting === warnedSetting) return
  warnedSetting = proxy.setting
  if (readStored('ignored_proxy') === proxy.setting) return
  toast.notice(
    t(
      '来自 {{address}} 的转发请求头未被采用，所有访客共用一个限流额度，一人即可使所有人无法登录。如果它是您的反向代理，请设置 {{setting}} 并重启',
      { ...proxy },
    ),
    () => writeStored('ignored_proxy', proxy.setting),
  )
}

/** Applies a new role or name without another sign-in. */
function follow({ id, username, display_name, role, ...self }: Self): void {
  const user = sessionUser()
  if (user?.id !== id) return
  const must_set_up_second_factor = self.must_set_up_second_factor === true
  const isSame =
    user.username === username &&
    user.display_name === display_name &&
    user.role === role &&
    (user.must_set_up_second_factor ?? false) === must_set_up_second_factor
  if (!isSame) setSessionUser({ ...user, username, display_name, role, must_set_up_second_factor })
}
