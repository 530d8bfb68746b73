import type { Release } from '../../contract/release-api.ts'

/** Maximum length of release notes that are passed on, in characters. */
const NOTES_MAX = 100_000
const WORD_MAX = 200

/** Converts the code host's response; null if it is not a release. */
export function toRelease(
  said: Readonly<Record<string, unknown>> | null,
  current: string,
): Release | null {
  const tag = textOf(said?.['tag_name'], WORD_MAX)
  if (said === null || tag === '') return null
  const address = textOf(said['html_url'], WORD_MAX)
  return {
    tag_name: tag,
    name: textOf(said['name'], WORD_MAX),
    body: textOf(said['body'], NOTES_MAX),
    html_url: /^https:\/\/[^\s\\]+$/.test(address) ? address : '',
    published_at: textOf(said['published_at'], WORD_MAX),
    current,
    is_newer: isNewer(tag, current),
  }
}

const textOf = (value: unknown, max: number): string =>
  typeof value === 'string' ? value.slice(0, max) : ''

/**
 * Compares versions such as `v1.10.2` part by part. A pre-release (`v1.0.0-rc.1`) is older than its
 * release; an invalid tag is never newer.
 */
export function isNewer(tag: string, current: string): boolean {
  const [theirs, ours] = [versionOf(tag), versionOf(current)]
  if (theirs === null || ours === null) return false
  for (const [index, part] of theirs.parts.entries()) {
    const own = ours.parts[index] ?? 0
    if (part !== own) return part > own
  }
  return ours.isEarly && !theirs.isEarly
}

function versionOf(tag: string): { parts: number[]; isEarly: boolean } | null {
  const match = /^v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(-[\w.]+)?/i.exec(tag.trim())
  if (match === null) return null
  const [, major, minor, patch = '0', early] = match
  return { parts: [major, minor, patch].map(Number), isEarly: early !== undefined }
}
