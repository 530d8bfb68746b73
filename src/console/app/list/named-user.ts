/** Parses a user in a filter: a username, or `#<id>` regardless of the name. */
export function namedUser(text: string): { username: string; user_id: number } {
  const id = Number(/^#(\d{1,15})$/.exec(text)?.[1] ?? 0)
  return { username: id === 0 ? text : '', user_id: id }
}
