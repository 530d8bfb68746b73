// Loads everything a server loads, once, so that the code cache (code-cache.js) is full afterwards.
import { useCodeCache } from './code-cache.js'

useCodeCache()
const { startOnce } = await import('../commands/start-once.ts')
await startOnce()
