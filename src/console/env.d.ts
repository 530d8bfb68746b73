/** Version of this build, from package.json; filled in by Vite. */
declare const __CONSOLE_VERSION__: string

interface ImportMetaEnv {
  /** Address in front of `/api`; empty: where the console itself comes from. */
  readonly VITE_API_BASE?: string
}
