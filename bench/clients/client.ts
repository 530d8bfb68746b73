import type { Script } from '../../tools/fake-upstream/script.ts'

/** What a client program is given: where the gateway is, and folders of its own. */
export type Setting = {
  /** Of the gateway, without a path. */
  url: string
  /** The token's key. */
  key: string
  model: string
  /** The program's HOME, empty but for `files`. */
  home: string
  /** Where it runs; holds `first.txt` and `second.txt`. */
  work: string
  /** Where its packages are installed. */
  packages: string
  prompt: string
}

/** One client program, or one of the SDKs that a program speaks through. */
export type Client = {
  id: string
  name: string
  /** How it speaks to the gateway. */
  dialect: 'Chat' | 'Responses' | 'Anthropic' | 'Gemini'
  /** Null: requests that are written by hand after the program's source, whose version is `source`. */
  install: { from: 'npm' | 'pip'; packages: string[] } | null
  source?: string
  env?(setting: Setting): Record<string, string>
  /** Configuration files by their path below HOME. */
  files?(setting: Setting): Record<string, string>
  command(setting: Setting): string[]
  steps(setting: Setting): Script['steps']
  /** The file that ends up with the answer; absent: it is printed. */
  writes?: string
}
