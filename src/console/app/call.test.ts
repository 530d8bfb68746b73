import { beforeAll, expect, test } from 'vitest'
import { CallFailure } from './call-client.ts'
import { failureToast, report } from './call.ts'
import { startI18n } from './i18n.ts'
import { showToastsWith, toast, type Toast } from './toast.ts'

beforeAll(startI18n)

test.each([
  [{ status: 200, refused: true }, '令牌不存在', 'error', '令牌不存在'],
  [{ status: 429 }, '请求次数过多', 'error', '错误：请求次数过多'],
  [{ status: 405 }, 'HTTP 405', 'info', '本站仅作演示之用，无服务端！'],
  [{ status: 403 }, '来自其他网站', 'error', '错误：来自其他网站'],
  [{ status: 0 }, '无法连接', 'error', '错误：无法连接'],
])('a failure with %o has the specified message', (at, said, kind, message) => {
  expect(failureToast(new CallFailure(said, at))).toEqual({ kind, message })
})

test('shows toasts that were raised before their widgets were loaded', () => {
  const shown: Toast[] = []
  toast.error('early')
  showToastsWith((raised) => shown.push(raised))
  toast.success('late')
  expect(shown).toEqual([
    { kind: 'error', message: 'early' },
    { kind: 'success', message: 'late' },
  ])
})

test('raises no toast when the session has ended: the sign-in page reports it', () => {
  const shown: Toast[] = []
  showToastsWith((raised) => shown.push(raised))
  report(new CallFailure('gone', { status: 401 }))
  report(new CallFailure('not now', { status: 503 }))
  expect(shown).toEqual([{ kind: 'error', message: '错误：not now' }])
})
