import { expect, test } from 'vitest'
import { toastMs } from './toast.ts'

test('duration of toasts; a notice stays until it is closed', () => {
  expect(toastMs).toEqual({
    success: 1500,
    instruction: 8000,
    info: 3000,
    error: 5000,
    warning: 10_000,
    notice: false,
  })
})
