import { test } from 'vitest'
import { startFakeUpstream } from '../../../tools/fake-upstream/fake-upstream.ts'
import { loadRecording } from '../../../tools/replay/recording.ts'
import { describeDifferences, replay } from '../../../tools/replay/replay.ts'
import { mkdtempSync } from 'node:fs'
import { startTestServer, ROOT_PASSWORD } from './test-app.ts'
test.each(['tokens', 'relay'])('%s', async (name) => {
  const upstream = await startFakeUpstream()
  const dir = mkdtempSync('/tmp/rt/db-')
  const server = await startTestServer(async () => ({ engine: 'sqlite', path: dir + '/x.db' }), {
    OPTIONS_MIN_ROLE: '100',
  })
  const found = await replay({
    base: server.url,
    upstream: upstream.url,
    rootPassword: ROOT_PASSWORD,
    recording: loadRecording(name),
    known: [],
  })
  console.log(name, describeDifferences(found))
  console.log(server.faults)
  await server.close()
  await upstream.close()
})
