import type { Script } from '../../tools/fake-upstream/script.ts'

/** Environment of a client program: the gateway's address, and its own folders. */
export type Setting = {
  /** Address of the gateway, without a path. */
  url: string
  /** The token's key. */
  key: string
  model: string
  /** The program's HOME, empty except for `files`. */
  home: string
  /** Working directory, with `first.txt` and `second.txt`. */
  work: string
  /** Folder with its packages. */
  packages: string
  prompt: string
}

/** A client program, or an SDK used by one of our programs. */
export type Client = {
  id: string
  name: string
  /** Dialect in which it calls the gateway. */
  dialect: 'Chat' | 'Responses' | 'Anthropic' | 'Gemini'
  /** Null for requests that are reproduced from the program's source, whose version is `source`. */
  install: { from: 'npm' | 'pip'; packages: string[] } | null
  source?: string
  env?(setting: Setting): Record<string, string>
  /** Configuration files by their path below HOME. */
  files?(setting: Setting): Record<string, string>
  command(setting: Setting): string[]
  steps(setting: Setting): Script['steps']
  /** File that contains the result; if not set, the result is printed. */
  writes?: string
}
