import { expect, test } from 'vitest'
import { afterSaving } from './profile-form.ts'

const sent = {
  username: 'amy',
  display_name: 'Amy',
  password: 'secret12',
  password2: 'secret12',
  old_password: 'old',
}

test('a saved password leaves the form', () => {
  expect(afterSaving(sent, sent)).toEqual({
    ...sent,
    password: '',
    password2: '',
    old_password: '',
  })
})

test('what was typed while it was saved stays', () => {
  const now = { ...sent, display_name: 'Amy B.', password: 'another12' }
  expect(afterSaving(sent, now)).toEqual({ ...now, password2: '', old_password: '' })
})
