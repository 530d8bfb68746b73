import { expect, test, vi } from 'vitest'
import { queryClient } from './queries.tsx'
import { setSessionUser } from './session.ts'

// The session listens to other tabs.
vi.hoisted(() => vi.stubGlobal('window', new EventTarget()))

const USER = {
  id: 1,
  username: 'li.ming',
  display_name: '李明',
  role: 1,
  must_change_password: false,
}

test('responses of pages that have closed are dropped at sign-out, all others at sign-in', () => {
  setSessionUser(USER)
  queryClient.setQueryData(['closed'], 'secret')
  const open = queryClient.getQueryCache().build(queryClient, { queryKey: ['open'] })
  open.setData('secret')
  // Counts as observed: its page is still shown.
  open.isActive = () => true
  setSessionUser(null)
  expect(queryClient.getQueryData(['closed'])).toBeUndefined()
  expect(queryClient.getQueryData(['open'])).toBe('secret')
  setSessionUser(USER)
  expect(queryClient.getQueryData(['open'])).toBeUndefined()
})
