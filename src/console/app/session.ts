import { useSyncExternalStore } from 'react'
import { isAdmin, isRoot } from '../../contract/user.ts'
import { readStoredObject, writeStored } from './local-storage.ts'

/**
 * The signed-in user as stored in this browser. For display only: the server enforces permissions.
 */
export interface SessionUser {
  id: number
  username: string
  display_name: string
  role: number
  /** The server accepts no other request until the default password is changed. */
  must_change_password: boolean
  /** The server accepts no other request until the account has a second factor. */
  must_set_up_second_factor?: boolean
}

export type PageAccess = 'anyone' | 'user' | 'admin' | 'root'

const listeners = new Set<() => void>()
let current: SessionUser | null | undefined

/** Null if the stored value is not a valid user. */
export function toSessionUser(
  stored: Readonly<Record<string, unknown>> | null,
): SessionUser | null {
  if (stored === null) return null
  const { id, username, display_name, role, must_change_password, must_set_up_second_factor } =
    stored
  if (typeof id !== 'number' || typeof username !== 'string' || typeof role !== 'number')
    return null
  return {
    id,
    username,
    display_name: typeof display_name === 'string' ? display_name : '',
    role,
    must_change_password: must_change_password === true,
    ...(must_set_up_second_factor === true ? { must_set_up_second_factor } : {}),
  }
}

export function sessionUser(): SessionUser | null {
  if (current === undefined) current = toSessionUser(readStoredObject('user'))
  return current
}

export function setSessionUser(user: SessionUser | null): void {
  writeStored('user', user === null ? null : JSON.stringify(user))
  changed(user)
}

function changed(user: SessionUser | null | undefined) {
  current = user
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void) {
  // Signing out in one tab signs out all tabs.
  const onStorage = (event: StorageEvent) => {
    if (event.key === 'user' || event.key === null) changed(undefined)
  }
  listeners.add(listener)
  window.addEventListener('storage', onStorage)
  return () => {
    listeners.delete(listener)
    window.removeEventListener('storage', onStorage)
  }
}

/** Calls the listener when another user signs in, or the user signs out. */
export function onSessionChange(listener: (user: SessionUser | null) => void): void {
  let id = sessionUser()?.id
  subscribe(() => {
    const user = sessionUser()
    if (user?.id === id) return
    id = user?.id
    listener(user)
  })
}

export const useSessionUser = (): SessionUser | null => useSyncExternalStore(subscribe, sessionUser)

/** Whether a user may open a page; `user` is null before sign-in. */
export function mayOpen(access: PageAccess, user: SessionUser | null): boolean {
  if (access === 'anyone') return true
  if (user === null) return false
  if (access === 'root') return isRoot(user.role)
  return access === 'user' || isAdmin(user.role)
}
