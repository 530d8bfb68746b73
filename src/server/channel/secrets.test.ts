import { describe, expect, test } from 'vitest'
import { secretsOf, withoutChannelSecrets, withoutKeys, withoutSecrets } from './secrets.ts'

describe('cleaning a text', () => {
  test.each([
    ['Incorrect key sk-abcdefghij', 'Incorrect key sk-***'],
    ['see https://api.example.com/docs?key=1 for more', 'see *** for more'],
    ['HTTP://HOST/x then', '*** then'],
    ['nothing of the kind', 'nothing of the kind'],
    ['risk-taking is fine', 'risk-taking is fine'],
    // Account names.
    [
      'User: arn:aws:iam::123456789012:user/gatehouse-prod is not authorized to perform: x',
      'User: *** is not authorized to perform: x',
    ],
    [
      'Your account 2100123456 has not activated the model doubao',
      'Your account *** has not activated the model doubao',
    ],
    [
      "denied on resource '//aiplatform.googleapis.com/projects/my-project/locations/us'",
      "denied on resource '//aiplatform.googleapis.com/projects/***/locations/us'",
    ],
    ['Team: 76d698e2-6235-4611-a62a-53e3622bf551, Model: grok-4', 'Team: ***, Model: grok-4'],
    ['has not been used in project 123456 before', 'has not been used in project *** before'],
    ['Project proj_abcdefghij0123 has no access to gpt-4', 'Project *** has no access to gpt-4'],
    ['Your account org-de5241b31b0345ac is suspended', 'Your account *** is suspended'],
    ['the account manager of a team: us', 'the account manager of a team: us'],
  ])('%s', (text, clean) => {
    expect(withoutSecrets(text, [])).toBe(clean)
  })

  test('every part of a channel’s address is a secret, except an empty one', () => {
    const secrets = secretsOf({ type: 1, key: 'k', baseUrl: 'https://inner.example:8443/v1' })
    expect(withoutSecrets('dial inner.example:8443 and inner.example', secrets)).toBe(
      'dial *** and ***',
    )
    expect(withoutSecrets('plain', secretsOf({ type: 1, key: '', baseUrl: '' }))).toBe('plain')
    const account = { user_id: '0123456789abcdef0123456789abcdef' }
    const cloudflare = secretsOf({ type: 37, key: 'k', baseUrl: '', config: account })
    expect(withoutSecrets(`no route for /accounts/${account.user_id}/ai`, cloudflare)).toBe(
      'no route for /accounts/***/ai',
    )
    // The host name in a local network may be an ordinary word.
    const neighbour = secretsOf({ type: 1, key: 'k', baseUrl: 'http://chat:8000' })
    expect(withoutSecrets('chat failed at chat:8000', neighbour)).toBe('chat failed at ***')
  })
})

describe('where the upstream is', () => {
  test.each([
    ['dial api.inner.example:8443', 'dial ***'],
    ['connect ECONNREFUSED localhost:8080', 'connect ECONNREFUSED ***'],
    ['from foo_bar.example:443, then x', 'from foo_***, then x'],
    ['at ..a.example:80 and A.EXAMPLE:80', 'at *** and ***'],
    ['no address: chat:8000, 12:30, v1.2:10', 'no address: chat:8000, 12:30, v1.2:10'],
    ['messages[0] and [12:34:56]:80', 'messages[0] and ***'],
    ['[::1]:8080 and [2001:db8::7] and [a.b]', '*** and *** and [a.b]'],
  ])('%s', (text, clean) => {
    expect(withoutSecrets(text, [])).toBe(clean)
  })
})

// An error of an upstream may have a megabyte, and often repeats what the client has sent.
describe('a long text takes no longer than its length demands', () => {
  const LENGTH = 2 ** 20
  test.each([
    'a.',
    'aa.',
    'a-',
    'xoxb-',
    'org-',
    '[:',
    '[::a',
    'sk-a...',
    '***-',
    '1.1.1.',
    'dial tcp ',
  ])('%s', (unit) => {
    const text = unit.repeat(LENGTH / unit.length)
    const { user, system } = process.cpuUsage()
    withoutSecrets(`${text} x`, ['secret'])
    const used = process.cpuUsage({ user, system })
    expect((used.user + used.system) / 1000).toBeLessThan(2000)
  })
})

const KEYS = 'sk-first\nfastgpt-0123456789abcdef.app'
const row = { type: 1, key: KEYS, base_url: 'https://inner.example:8443/v1', config: '' }

describe('messages of an upstream, in a log row or a letter', () => {
  test.each([
    [
      'each of several keys',
      'Bearer sk-first, then fastgpt-0123456789abcdef.app',
      'Bearer ***, then ***',
    ],
    ['a part of a key', 'no application fastgpt-0123456789abcdef', 'no application ***'],
    ['where the upstream is', 'dial inner.example:8443: refused', 'dial ***: refused'],
    ['an address', 'see http://10.1.2.3/x', 'see ***'],
    ['its account', 'Project proj_abcdefghij0123 is archived', 'Project *** is archived'],
    ['nothing of the kind', 'plain', 'plain'],
  ])('without %s', (_what, text, clean) => {
    expect(withoutChannelSecrets(text, row)).toBe(clean)
  })

  test('without the secrets of its configuration', () => {
    const config = JSON.stringify({
      sk: 'hidden',
      proxy: 'http://me:pass-word@proxy.example:3128',
      header_override: { 'x-tenant': 'tenant-4711', 'x-mode': 'fast' },
    })
    const text = 'hidden, proxy.example:3128, pass-word, tenant-4711, fast'
    expect(withoutChannelSecrets(text, { ...row, config })).toBe('***, ***, ***, ***, fast')
    expect(withoutChannelSecrets('hidden', { ...row, config: 'broken' })).toBe('hidden')
  })

  test('in any encoding', () => {
    const key = 'ABSK+x/y="z"=='
    const address = encodeURIComponent(key)
    const quoted = JSON.stringify({ error: `no such key: ${key}` })
    const escaped = quoted.replaceAll('/', String.raw`\/`)
    for (const text of [`?key=${address}&v=1`, quoted, escaped]) {
      const clean = withoutChannelSecrets(text, { ...row, key })
      expect(clean).toContain('***')
      expect(clean).not.toMatch(/ABSK/)
    }
  })

  test('a key as short as a word does not change a text', () => {
    expect(withoutChannelSecrets('a bad key', { ...row, key: 'a' })).toBe('a bad key')
  })
})

test('a channel’s name may be its address, but not its key', () => {
  expect(withoutKeys('inner.example', row)).toBe('inner.example')
  expect(withoutKeys('mine (sk-first)', row)).toBe('mine (***)')
})
