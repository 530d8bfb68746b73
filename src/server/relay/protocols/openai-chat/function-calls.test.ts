import { expect, test } from 'vitest'
import { withTools } from './function-calls.ts'

test('an empty function call in the history is left out', () => {
  const answered = { role: 'assistant', content: '4', function_call: { name: '', arguments: '' } }
  const messages = [{ role: 'user', content: '2 + 2?' }, answered]
  expect(withTools({ messages }).messages).toEqual([
    messages[0],
    { role: 'assistant', content: '4' },
  ])
})
