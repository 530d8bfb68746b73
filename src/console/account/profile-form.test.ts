import { expect, test } from 'vitest'
import { afterSaving } from './profile-form.ts'

const sent = {
  username: 'amy',
  display_name: 'Amy',
  password: 'secret12',
  password2: 'secret12',
  old_password: 'old',
}

test('clears the password fields after saving', () => {
  expect(afterSaving(sent, sent, sent)).toEqual({
    ...sent,
    password: '',
    password2: '',
    old_password: '',
  })
})

test('shows names as they are stored', () => {
  const emptied = { ...sent, username: ' amy ', display_name: ' ' }
  expect(afterSaving(emptied, emptied, sent)).toMatchObject({
    username: 'amy',
    display_name: 'amy',
  })
})

test('keeps text that was entered while saving', () => {
  const now = { ...sent, display_name: 'Amy B.', password: 'another12' }
  expect(afterSaving(sent, now, sent)).toEqual({ ...now, password2: '', old_password: '' })
})
