import { resolveConfig } from 'vite'
import { expect, test } from 'vitest'

test('only tools/dev.ts says to which server the console’s calls go', async () => {
  const { server } = await resolveConfig({}, 'serve')
  // What stood here would come first, and match before what tools/dev.ts adds.
  expect(server.proxy).toBeUndefined()
})
