import { z } from 'zod'
import { get } from './endpoint.ts'

const Release = z
  .object({
    tag_name: z.string().meta({ description: 'Tag of the release.', example: 'v1.2.0' }),
    name: z.string().meta({
      description: 'Name of the release; empty if it has none.',
      example: 'v1.2.0',
    }),
    body: z.string().meta({
      description: 'Release notes as markdown.',
      example: '- Channels may hold several keys.',
    }),
    html_url: z.string().meta({
      description: 'Address of the release page; empty or `https:`.',
      example: 'https://github.com/owner/name/releases/tag/v1.2.0',
    }),
    published_at: z.string().meta({
      description: 'Time of publication in ISO 8601, or empty.',
      example: '2026-09-22T08:13:24Z',
    }),
    current: z.string().meta({ description: 'Running version.', example: 'v1.1.0' }),
    is_newer: z.boolean().meta({
      description: 'Whether the release is newer than the running version.',
      example: true,
    }),
  })
  .meta({
    id: 'Release',
    description: 'The newest release of the configured repository.',
  })
export type Release = z.infer<typeof Release>

export const releaseApi = {
  latest: get('/api/release', {
    name: 'getLatestRelease',
    summary: 'Newest release of RELEASE_REPOSITORY; fetched by the server and cached for an hour.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: Release,
  }),
}
