import { AppError } from '../../app-error.ts'
import type { App } from '../../app.ts'
import { moveSetting, readOrCreateSetting } from '../../db/setting-store.ts'
import { newRequestId } from '../../http/request-id.ts'
import type { ChannelTests } from '../channel-test.ts'

/** How often is looked whether a test is due. */
const LOOK_MS = 30_000
const SETTING = 'channel_test_at'

/**
 * Tests all channels every `CHANNEL_TEST_FREQUENCY` minutes, first so long after the first start
 * with it. When the last one began is a fact of the installation: of all processes one tests, and a
 * restart delays nothing.
 */
export function testRegularly(
  app: App,
  tests: Pick<ChannelTests, 'startAll'>,
  stopping: AbortSignal | undefined,
): void {
  if (app.config.CHANNEL_TEST_FREQUENCY === 0) return
  const timer = setInterval(() => {
    testWhenDue(app, tests).catch((error: unknown) => {
      app.trace.warn({ err: error }, 'a regular test of the channels did not begin')
    })
  }, LOOK_MS)
  timer.unref()
  stopping?.addEventListener('abort', () => clearInterval(timer))
}

async function testWhenDue(app: App, tests: Pick<ChannelTests, 'startAll'>): Promise<void> {
  const { clock, config, database } = app
  const nowSeconds = clock.nowSeconds()
  const from = await readOrCreateSetting(database.write, SETTING, String(nowSeconds))
  // A test of the future was begun by a clock that was ahead.
  if (Math.abs(nowSeconds - Number(from)) < config.CHANNEL_TEST_FREQUENCY * 60) return
  if (!(await moveSetting(database.write, SETTING, { from, to: String(nowSeconds) }))) return
  try {
    await tests.startAll('all', newRequestId(clock.nowMs()))
  } catch (error) {
    // Somebody is testing already: this one is left out.
    if (!(error instanceof AppError)) throw error
  }
}
