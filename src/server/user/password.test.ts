import { stat } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { PASSWORD_BYTES_MAX } from '../../contract/user.ts'
import { createPasswords } from './password.ts'

/** Work factor at which a comparison takes a measurable time. */
const COST = 11
const LEAST_MS = 20

describe('a password', () => {
  test('matches its own hash and no other', async () => {
    const passwords = createPasswords(4)
    const hash = await passwords.hash('the password')
    expect(hash).toMatch(/^\$2[aby]\$04\$/)
    expect(await passwords.verify('the password', hash)).toBe(true)
    expect(await passwords.verify('the Password', hash)).toBe(false)
  })

  test.each([null, ''])('matches nothing if %j is stored', async (stored) => {
    const passwords = createPasswords(4)
    expect(await passwords.verify('no password is this', stored)).toBe(false)
    expect(await passwords.verify('', stored)).toBe(false)
  })

  // Hash prefixes of One API, PHP and other programs.
  test.each(['$2a$', '$2b$', '$2y$'])('matches a hash that begins with %s', async (prefix) => {
    const passwords = createPasswords(4)
    const hash = (await passwords.hash('the password')).replace(/^\$2[aby]\$/, prefix)
    expect(await passwords.verify('the password', hash)).toBe(true)
  })

  // Otherwise the response time would reveal which names exist.
  test.each([
    ['of a name that nobody has', null],
    ['of somebody who has no password', ''],
  ])('takes the time of a comparison if it is that %s', async (_what, stored) => {
    const passwords = createPasswords(COST)
    await passwords.verify('x', stored)
    const started = performance.now()
    await passwords.verify('x', stored)
    expect(performance.now() - started).toBeGreaterThan(LEAST_MS)
  })

  test('that does not match a cheaper adopted hash takes as long as any other', async () => {
    const passwords = createPasswords(COST)
    const adopted = await createPasswords(5).hash('the password')
    expect(await passwords.verify('the password', adopted)).toBe(true)
    // The first comparison creates the dummy hashes.
    expect(await passwords.verify('x', adopted)).toBe(false)
    const started = performance.now()
    await passwords.verify('x', adopted)
    expect(performance.now() - started).toBeGreaterThan(LEAST_MS)
  })

  test('that only starts with the right one does not match, at any length', async () => {
    const passwords = createPasswords(4)
    const longest = '密'.repeat(PASSWORD_BYTES_MAX / 3)
    const hash = await passwords.hash(longest)
    expect(await passwords.verify(longest, hash)).toBe(true)
    expect(await passwords.verify(`${longest}x`, hash)).toBe(false)
  })

  // File reads and DNS lookups use the same threads.
  test('does not block file reads while many are hashed', async () => {
    const passwords = createPasswords(COST)
    let hashed = 0
    const hashing = Array.from({ length: 12 }, async () => {
      await passwords.hash('the password', 'somebody')
      hashed += 1
    })
    await stat(import.meta.filename)
    expect(hashed).toBeLessThan(4)
    await Promise.all(hashing)
  })
})
