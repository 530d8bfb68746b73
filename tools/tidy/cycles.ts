import type { Tree, Violation } from './tree.ts'

/** Circles of imports that exist when the program runs; types may refer to each other freely. */
export function cycles(tree: Tree): Violation[] {
  const found: Violation[] = []
  const done = new Set<string>()
  const trail: string[] = []

  const visit = (path: string) => {
    const at = trail.indexOf(path)
    if (at !== -1) {
      const circle = [...trail.slice(at), path].join(' → ')
      found.push({
        rule: 'cycle',
        path,
        message: `${circle}. Move what both need to a third file.`,
      })
      return
    }
    if (done.has(path)) return
    trail.push(path)
    for (const { target, kind, isType } of tree.get(path)?.imports ?? []) {
      if (target && !isType && (kind === 'static' || kind === 'export')) visit(target)
    }
    trail.pop()
    done.add(path)
  }

  for (const path of tree.keys()) visit(path)
  return found
}
