import { useCallback, useSyncExternalStore } from 'react'
import type { Feature } from '../../contract/features.ts'
import type { Status } from '../../contract/status-api.ts'
import {
  DEFAULT_QUOTA_PER_UNIT,
  pointDecimals,
  type QuotaDisplay,
  quotaText,
} from '../../contract/quota.ts'
import { call } from './call.ts'
import { t } from './i18n.ts'
import { type KnownStatus, toKnownStatus } from './status/known-status.ts'
import { readStoredObject, writeStored } from './local-storage.ts'
import { isOwnApi } from '../ui/rich/own-api.ts'
import { toast } from './toast.ts'

const DEFAULT_SYSTEM_NAME = 'Gatehouse'
const THEMES = ['default', 'berry', 'air']

const listeners = new Set<() => void>()
let current: KnownStatus = toKnownStatus(readStoredObject('status'))

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

export const useStatus = (): KnownStatus => useSyncExternalStore(subscribe, () => current)

export const systemName = (status: KnownStatus): string => status.system_name || DEFAULT_SYSTEM_NAME
/** The operator's logo if it may be loaded, else ours. */
export const logoAddress = ({ logo }: KnownStatus): string =>
  logo && !isOwnApi(logo) ? logo : './logo.png'

/** Sets the accent and the tab icon, which are outside React. */
function applyBranding(status: KnownStatus) {
  const theme = status.gatehouse?.theme ?? 'default'
  document.documentElement.dataset['accent'] = THEMES.includes(theme) ? theme : 'default'
  document.querySelector('link[rel=icon]')?.setAttribute('href', logoAddress(status))
}

function remember(status: Status) {
  current = status
  writeStored('status', JSON.stringify(status))
  writeStored('system_name', systemName(status))
  writeStored('logo', status.logo || '/logo.png')
  writeStored('footer_html', status.footer_html)
  writeStored('quota_per_unit', String(status.quota_per_unit))
  writeStored('display_in_currency', String(status.display_in_currency))
  applyBranding(status)
  for (const listener of listeners) listener()
}

/** Whether the server runs another version than this console was built with. */
export const isOtherVersion = (status: KnownStatus, consoleVersion: string): boolean =>
  status.gatehouse !== undefined &&
  status.version !== undefined &&
  status.version !== `v${consoleVersion}`

/** How long a status counts as fresh, in milliseconds. */
const FRESH_MS = 300_000
let fetchedAt = 0
/** The other version of which the reader has been notified. */
let notifiedVersion: string | undefined

async function fetchStatus(): Promise<void> {
  fetchedAt = Date.now()
  const status = await call('GET /api/status', {}, { background: true })
  remember(status)
  if (!isOtherVersion(status, __CONSOLE_VERSION__) || status.version === notifiedVersion) return
  notifiedVersion = status.version
  toast.notice(
    t('新版本可用：{{version}}，请使用快捷键 Shift + F5 刷新页面', { version: status.version }),
    () => {},
  )
}

/** Loads the status; until then the status stored by an earlier visit is used. */
export async function loadStatus(): Promise<void> {
  applyBranding(current)
  try {
    await fetchStatus()
  } catch {
    toast.error(t('无法正常连接至服务器！'))
  }
}

/** Refreshes the status when a page that stayed open becomes visible again. */
export function followStatus(): void {
  document.addEventListener('visibilitychange', () => {
    const isFresh = Date.now() - fetchedAt < FRESH_MS
    if (document.visibilityState === 'visible' && !isFresh) void fetchStatus().catch(() => {})
  })
}

const quotaDisplay = (status: KnownStatus): QuotaDisplay => ({
  quotaPerUnit: status.quota_per_unit || DEFAULT_QUOTA_PER_UNIT,
  inCurrency: status.display_in_currency ?? true,
})

/** Whether visitors can register with a name and password, as far as the server reports. */
export function useMayRegister(): boolean {
  return (useStatus().gatehouse?.registration ?? 'open') === 'open'
}

/** Whether the server has a feature beyond One API. One API servers report none. */
export function useHasFeature(): (name: Feature) => boolean {
  const features = useStatus().gatehouse?.features
  return (name) => features?.includes(name) === true
}

/** Formats points as this installation displays them. */
export function useQuotaText(): (quota: number, decimals?: number) => string {
  const status = useStatus()
  return useCallback(
    (quota, decimals) => quotaText(quota, quotaDisplay(status), decimals),
    [status],
  )
}

/** Formats the cost of a single call, exact to the point. */
export function useCostText(): (quota: number) => string {
  const status = useStatus()
  return useCallback(
    (quota) => {
      const display = quotaDisplay(status)
      return quotaText(quota, display, pointDecimals(display))
    },
    [status],
  )
}

const CENTS_PER_DOLLAR = 100

/**
 * Formats points in dollars, regardless of the display setting; less than a cent is not shown as
 * zero.
 */
export function useDollarText(): (quota: number) => string {
  const display = { ...quotaDisplay(useStatus()), inCurrency: true }
  const cent = display.quotaPerUnit / CENTS_PER_DOLLAR
  return (quota) =>
    quotaText(quota, display, quota > 0 && quota < cent ? pointDecimals(display) : undefined)
}
