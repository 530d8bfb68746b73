import { z } from 'zod'
import { get } from './endpoint.ts'

const Release = z
  .object({
    tag_name: z.string().meta({ description: 'Tag of the release.', example: 'v1.2.0' }),
    name: z.string().meta({
      description: 'Empty where the release has no name but its tag.',
      example: 'v1.2.0',
    }),
    body: z.string().meta({
      description: 'Release notes as markdown.',
      example: '- Channels may hold several keys.',
    }),
    html_url: z.string().meta({
      description: 'Where it can be read; empty or an `https:` address.',
      example: 'https://github.com/owner/name/releases/tag/v1.2.0',
    }),
    published_at: z
      .string()
      .meta({ description: 'ISO 8601, or empty.', example: '2026-09-22T08:13:24Z' }),
    current: z.string().meta({ description: 'What runs here.', example: 'v1.1.0' }),
    is_newer: z.boolean().meta({
      description: 'Whether the release is newer than what runs here.',
      example: true,
    }),
  })
  .meta({
    id: 'Release',
    description: 'The newest release of the repository that the operator named.',
  })
export type Release = z.infer<typeof Release>

export const releaseApi = {
  latest: get('/api/release', {
    name: 'getLatestRelease',
    summary: 'Newest release of RELEASE_REPOSITORY; asked for by the server, kept for an hour.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: Release,
  }),
}
