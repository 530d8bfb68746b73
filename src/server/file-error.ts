import fs from 'node:fs'

/** An error of `node:fs`. `path` is missing if a file was open already. */
interface FileError extends Error {
  code: string
  syscall: string
  path?: string
  dest?: string
}

const isFileError = (error: unknown): error is FileError =>
  error instanceof Error && 'code' in error && 'syscall' in error && typeof error.code === 'string'

/** Reasons by the code of the system, with what the operator can do. */
const REASONS: Readonly<Record<string, (place: string, error: FileError) => string>> = {
  ENOENT: (place) => `${place} does not exist`,
  EACCES: (place) => `this user may not access ${place}; check owner and permissions`,
  EPERM: (place) => `this user may not access ${place}; check owner and permissions`,
  EISDIR: (place) => `${place} is a folder, and a file is needed`,
  ENOTDIR: (place) => `${place} lies below a file, and a folder is needed`,
  EEXIST: (place) =>
    isFolder(place) ? `${place} exists already` : `${place} is a file, and a folder is needed`,
  ENOTEMPTY: (_, { dest }) => `${dest ?? 'the folder'} exists already`,
  ENOSPC: () => 'no space is left on the disk',
  EDQUOT: () => 'the disk quota of this user is used up',
  EROFS: (place) => `the file system of ${place} is read-only`,
}

const isFolder = (place: string): boolean =>
  fs.statSync(place, { throwIfNoEntry: false })?.isDirectory() === true

/**
 * Returns why a file or folder cannot be used, as a text to follow a colon; null for errors of
 * another kind. `place` is named if the error itself names none.
 */
export function fileReason(error: unknown, place = 'it'): string | null {
  if (!isFileError(error)) return null
  return REASONS[error.code]?.(error.path ?? place, error) ?? null
}
