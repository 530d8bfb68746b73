import { AppError } from '../../app-error.ts'
import type { App } from '../../app.ts'
import { moveSetting, readOrCreateSetting } from '../../db/setting-store.ts'
import { newRequestId } from '../../http/request-id.ts'
import type { ChannelTests } from '../channel-test.ts'

/** Interval of the checks whether a test is due. */
const LOOK_MS = 30_000
const SETTING = 'channel_test_at'

/**
 * Tests all channels every `CHANNEL_TEST_FREQUENCY` minutes, first that long after the first start
 * with this setting. The start time of the last test is stored in the database, so only one process
 * tests, and a restart causes no delay.
 */
export function testRegularly(
  app: App,
  tests: Pick<ChannelTests, 'startAll'>,
  stopping: AbortSignal | undefined,
): void {
  if (app.config.CHANNEL_TEST_FREQUENCY === 0) return
  const timer = setInterval(() => {
    testWhenDue(app, tests).catch((error: unknown) => {
      app.trace.warn({ err: error }, 'could not start the scheduled channel test')
    })
  }, LOOK_MS)
  timer.unref()
  stopping?.addEventListener('abort', () => clearInterval(timer))
}

async function testWhenDue(app: App, tests: Pick<ChannelTests, 'startAll'>): Promise<void> {
  const { clock, config, database } = app
  const nowSeconds = clock.nowSeconds()
  const from = await readOrCreateSetting(database.write, SETTING, String(nowSeconds))
  // A test in the future was started by a clock that was ahead.
  if (Math.abs(nowSeconds - Number(from)) < config.CHANNEL_TEST_FREQUENCY * 60) return
  if (!(await moveSetting(database.write, SETTING, { from, to: String(nowSeconds) }))) return
  try {
    await tests.startAll('all', newRequestId(clock.nowMs()))
  } catch (error) {
    // A test is already running, so this one is skipped.
    if (!(error instanceof AppError)) throw error
  }
}
