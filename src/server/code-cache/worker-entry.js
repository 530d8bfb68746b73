// Where every worker thread starts: the code cache (code-cache.js), then the thread's own module.
import module from 'node:module'
import { workerData } from 'node:worker_threads'
import { useCodeCache } from './code-cache.js'

useCodeCache()
await import(workerData.module)
// Threads are ended from outside, which would lose what the cache has not written yet.
module.flushCompileCache?.()
