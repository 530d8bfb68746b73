import { z } from 'zod'
import { get } from './endpoint.ts'

/** The newest release of the repository that the operator named. */
const Release = z.object({
  /** Such as `v1.2.0`; older consoles of the family read this member and `body`. */
  tag_name: z.string(),
  /** Empty where the release has no name but its tag. */
  name: z.string(),
  /** Release notes as markdown. */
  body: z.string(),
  /** Where it can be read; empty or an `https:` address. */
  html_url: z.string(),
  /** ISO 8601, or empty. */
  published_at: z.string(),
  /** What runs here. */
  current: z.string(),
  /** Whether the release is newer than what runs here. */
  is_newer: z.boolean(),
})
export type Release = z.infer<typeof Release>

export const releaseApi = {
  latest: get('/api/release', {
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: Release,
    summary: 'Newest release of RELEASE_REPOSITORY; asked for by the server, kept for an hour.',
  }),
}
