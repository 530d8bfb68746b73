/**
 * Splits `postgres://user:password@host1:5432,host2:5432/name` into one address per host, in order.
 * `target_session_attrs` is removed, because the driver does not support it; the server uses the
 * host that accepts writes anyway.
 */
export function addressesIn(dsn: string): string[] {
  const { head, hosts, tail } = partsOf(dsn)
  const query = tail.indexOf('?')
  if (query === -1) return hosts.map((host) => head + host + tail)
  const kept = tail
    .slice(query + 1)
    .split('&')
    .filter((pair) => !pair.startsWith(`${ATTRIBUTE}=`))
  const rest = tail.slice(0, query) + (kept.length === 0 ? '' : `?${kept.join('&')}`)
  return hosts.map((host) => head + host + rest)
}

/** Returns what is wrong with a DSN, as a text to follow the name of its setting; or null. */
export function addressTrouble(dsn: string): string | null {
  const { hosts, tail } = partsOf(dsn)
  if (hosts.length > 1 && !addressesIn(dsn).every((address) => URL.canParse(address))) {
    return 'one of its hosts cannot be read; write postgres://user:password@host1:5432,host2:5432/name'
  }
  const wanted = new URLSearchParams(tail.slice(tail.indexOf('?') + 1)).get(ATTRIBUTE)
  return wanted === null || wanted === 'read-write' || wanted === 'primary'
    ? null
    : `${ATTRIBUTE} must be read-write or primary: the server needs a database that accepts writes`
}

const ATTRIBUTE = 'target_session_attrs'

function partsOf(dsn: string): { head: string; hosts: string[]; tail: string } {
  const start = dsn.indexOf('://') + '://'.length
  const end = dsn.slice(start).search(/[/?#]/)
  const authority = end === -1 ? dsn.slice(start) : dsn.slice(start, start + end)
  const at = authority.lastIndexOf('@') + 1
  return {
    head: dsn.slice(0, start) + authority.slice(0, at),
    hosts: authority.slice(at).split(','),
    tail: end === -1 ? '' : dsn.slice(start + end),
  }
}
