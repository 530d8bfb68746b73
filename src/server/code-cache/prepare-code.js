// Loads everything a server loads, once, so that the code cache is full afterwards. See code-
// cache.js.
import { useCodeCache } from './code-cache.js'

useCodeCache()
const { startOnce } = await import('../commands/start-once.ts')
await startOnce()
