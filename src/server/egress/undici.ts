/**
 * The parts of undici that the server uses. Its index loads a browser's network besides (`fetch`,
 * WebSockets, caches, mocks), which costs each process 5 MiB.
 */
import api from 'undici/lib/api/index.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js'

// As the index does it: `request`, `connect` and their like become methods of every dispatcher.
Object.assign(Dispatcher.prototype, api)

export { Pool, ProxyAgent }
