/**
 * Merges a form into the stored values: fields that have not changed since `seen` take the stored
 * value, so that saving does not undo changes of other users.
 */
export function mergeEdits<F extends object>(typed: F, seen: F, stored: F): F {
  const form = { ...stored }
  // All three have the same type and no further members.
  for (const name of Object.keys(typed) as (keyof F)[]) {
    if (JSON.stringify(typed[name]) !== JSON.stringify(seen[name])) form[name] = typed[name]
  }
  return form
}
