/**
 * A form over what is stored now: fields nobody has touched since `seen` follow what others have
 * changed meanwhile, so that saving one does not put back the rest.
 */
export function overStored<F extends object>(typed: F, seen: F, stored: F): F {
  const form = { ...stored }
  // All are of one type, and have nothing else.
  for (const name of Object.keys(typed) as (keyof F)[]) {
    if (JSON.stringify(typed[name]) !== JSON.stringify(seen[name])) form[name] = typed[name]
  }
  return form
}
