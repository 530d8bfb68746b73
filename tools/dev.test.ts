import { resolveConfig } from 'vite'
import { expect, test } from 'vitest'

test('only tools/dev.ts sets the server for the console’s requests', async () => {
  const { server } = await resolveConfig({}, 'serve')
  // A proxy in the configuration would take precedence over the one of tools/dev.ts.
  expect(server.proxy).toBeUndefined()
})
