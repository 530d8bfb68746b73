// Loads everything a server loads, once, so that the code cache (code-cache.js) is full afterwards.
import { useCodeCache } from './code-cache.js'

useCodeCache()
await import('../commands/command-line.ts')
const { startOnce } = await import('../commands/start-once.ts')
await startOnce()
