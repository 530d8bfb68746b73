import { readFileSync } from 'node:fs'

/** The two functions that the scripted model calls. */
export const findKey = (file) => readFileSync(file, 'utf8').trim()

export const findWord = (file, key) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .find((line) => line.startsWith(key))
