import { basename } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The slowest test files, slowest first, regardless of their size. */
const LONGEST = [
  'command-line.test.ts',
  'postgres-pool.test.ts',
  'fuzz.test.ts',
  'odd-databases.test.ts',
  'crash.test.ts',
  'package.test.ts',
  'export-routes.test.ts',
  'adopt-database.test.ts',
  'adopt.test.ts',
  'dashboard-routes.test.ts',
  'sign-in.test.ts',
  'structure.test.ts',
  'test.test.ts',
  'record.test.ts',
  'move.test.ts',
  'backup.test.ts',
  'cut-streams.test.ts',
  'faults.test.ts',
  'recordings.test.ts',
  'postgres-cluster.test.ts',
  'hostile-input.test.ts',
  'channel-hostile.test.ts',
  'http-hostile.test.ts',
  'pages.e2e.ts',
  'channel-form.e2e.ts',
  'shell.e2e.ts',
  'manual.e2e.ts',
  'user.e2e.ts',
  'content.e2e.ts',
  'token.e2e.ts',
  'channel-list.e2e.ts',
  'setting-operation.e2e.ts',
  'one-api.e2e.ts',
  'oauth.e2e.ts',
  'second-factor.e2e.ts',
  'register.e2e.ts',
  'log.e2e.ts',
  'dashboard.e2e.ts',
  'price.e2e.ts',
  'fresh-clone.e2e.ts',
  'setting-other.e2e.ts',
  'main-path.e2e.ts',
]

const rank = ({ moduleId }: TestSpecification): number => {
  const index = LONGEST.indexOf(basename(moduleId))
  return index === -1 ? LONGEST.length : index
}

/**
 * Without timings of an earlier run, vitest starts with the largest files. A small but slow file
 * would then run alone at the end.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- a sequencer, not an array
    const sorted = await super.sort(files)
    const groups = Map.groupBy(sorted, ({ project }) => project.name)
    return [...groups.values()].flatMap((group) => group.toSorted((a, b) => rank(a) - rank(b)))
  }
}
