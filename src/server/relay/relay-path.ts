import { RELAY_PREFIXES, RERANK_ALIASES } from '../../contract/relay-paths.ts'
import { unescapedPath } from '../http/request-head.ts'

/** The paths of the relay, in the forms that clients send them. */

export const isRelayPath = (url: string): boolean =>
  isPlainRelayPath(url) ||
  (/%|^\/\//.test(url) && isPlainRelayPath(unescapedPath(url).replace(/^\/+/, '/')))

const isPlainRelayPath = (url: string): boolean =>
  RELAY_PREFIXES.some((prefix) => url.startsWith(prefix) && isPathEnd(url[prefix.length]))

const isPathEnd = (next: string | undefined): boolean =>
  next === undefined || next === '/' || next === '?'

/** Path prefix of Gemini's OpenAI-compatible API. */
const GEMINI_OPENAI = '/v1beta/openai/'

/** Clients append `/v1` or a whole path to a base URL that already contains it. */
const VERSION_TWICE = /^\/v1(?:alpha|beta)?\/(v1(?:alpha|beta)?\/)/
const SURFACE_TWICE = /^\/v1\/([a-z]+(?:\/[a-z]+)?)\/(?:v1\/)?\1$/
/** A model list request from a client whose base URL is a surface's whole path. */
const MODELS_OF_SURFACE = /^\/v1\/(?:chat\/completions|messages|responses)\/(?:v1\/)?models$/

/**
 * Normalizes a path: removes duplicate and trailing slashes and a repeated version or path, and
 * maps aliases to this server's names.
 */
export function plainPath(path: string): string {
  const single = path.replace(/\/{2,}/g, '/').replace(VERSION_TWICE, '/$1')
  const plain = single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single
  if (plain.startsWith(GEMINI_OPENAI)) return `/v1/${plain.slice(GEMINI_OPENAI.length)}`
  if (RERANK_ALIASES.includes(plain)) return '/v1/rerank'
  const once = plain.replace(SURFACE_TWICE, '/v1/$1')
  return MODELS_OF_SURFACE.test(once) ? '/v1/models' : once
}
