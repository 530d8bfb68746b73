import type { TFunction } from 'i18next'
import { expect, test } from 'vitest'
import type { Log } from '../../contract/log-api.ts'
import { LogType } from '../../contract/log.ts'
import { logColumns } from './log-columns.tsx'

const aLog = (over: Partial<Pick<Log, 'type' | 'model_name' | 'quota'>>): Log => ({
  id: 1,
  user_id: 1,
  created_at: 1,
  type: LogType.manage,
  username: 'amy',
  token_name: '',
  model_name: '',
  channel: 0,
  quota: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  content: '老板送的',
  elapsed_time: 0,
  is_stream: false,
  request_id: 'r',
  has_body: false,
  system_prompt_reset: false,
  request: '',
  response: '',
  ...over,
})

test.each([
  ['what was managed', aLog({}), ['token_name']],
  ['a call', aLog({ type: LogType.consume, model_name: 'gpt-4o' }), []],
  ['a test', aLog({ type: LogType.test, model_name: 'gpt-4o' }), ['prompt_tokens']],
  ['what cost something', aLog({ quota: 5 }), []],
])('%s: first column from which its text fills the empty ones', (_what, log, from) => {
  const columns = logColumns({
    // Only called with a text here.
    t: ((text: string) => text) as TFunction,
    costText: String,
    isAdmin: true,
    hasLongWords: false,
    open: () => {},
  })
  const taken = columns.filter(({ instead }) => (instead?.({ id: 1, log }) ?? null) !== null)
  expect(taken.map(({ id }) => id)).toEqual(from)
})
