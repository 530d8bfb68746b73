/**
 * A ClickHouse HTTP interface on the in-process engine chDB, as far as the official client uses it
 * for queries, commands and inserts: one request after the other, no sessions, no compression, no
 * authentication. The engine, and so the SQL and its answers, is ClickHouse's own.
 *
 * node engine-server.js <folder with node_modules/chdb> <data folder>; prints its address.
 */
import http from 'node:http'
import { createRequire } from 'node:module'
import path from 'node:path'

const [modules, data] = process.argv.slice(2)
const { Session } = createRequire(path.join(modules, 'index.js'))('chdb')
const session = new Session(data)

/** URL parameters of the interface that are no settings of a query. */
const RESERVED = new Set(['database', 'query', 'query_id', 'session_id', 'default_format'])

/** Values arrive as in a TSV file; the engine's binding takes them as they are. */
const ESCAPES = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', 0: '\0' }
const unescaped = (text) => text.replace(/\\(.)/gs, (_, letter) => ESCAPES[letter] ?? letter)

async function run(url, body) {
  const parameters = {}
  session.query(`USE ${url.searchParams.get('database') ?? 'default'}`)
  for (const [name, value] of url.searchParams) {
    if (name.startsWith('param_')) parameters[name.slice('param_'.length)] = unescaped(value)
    else if (!RESERVED.has(name)) session.query(`SET ${name} = '${value}'`)
  }
  const query = url.searchParams.get('query')
  const words = (query ?? '').trim().split(/\s+/)
  if (words[0] === 'INSERT') {
    await session.insert({ table: words[2], values: body, format: words.at(-1) })
    return ''
  }
  return String(session.queryBind(query ?? body.toString(), parameters, 'TabSeparated'))
}

let last = Promise.resolve()
const server = http.createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    const url = new URL(request.url, 'http://engine')
    if (url.pathname === '/ping') {
      response.end('Ok.\n')
      return
    }
    last = last
      .then(() => run(url, Buffer.concat(parts)))
      .then(
        (text) => response.end(text),
        (error) => {
          const code = /Code: (\d+)/.exec(error.message)?.[1] ?? '1002'
          response.writeHead(500, { 'X-ClickHouse-Exception-Code': code })
          response.end(error.message.replace(/^Query failed: /, ''))
        },
      )
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`)
})
process.on('SIGTERM', () => {
  session.close()
  process.exit(0)
})
