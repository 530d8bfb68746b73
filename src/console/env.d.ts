/** Version of this build, from package.json; inserted by Vite. */
declare const __CONSOLE_VERSION__: string

interface ImportMetaEnv {
  /** Address before `/api`; empty for the origin and path of the console. */
  readonly VITE_API_BASE?: string
}
