import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import module from 'node:module'
import path from 'node:path'

const FOLDER = path.join(import.meta.dirname, '../../../node_modules/.cache/gatehouse/code')
const STAMP = path.join(FOLDER, 'prepared')
const SOURCES = ['..', '../../contract'].map((folder) => path.join(import.meta.dirname, folder))
const PREPARE_LIMIT_MS = 60_000

/**
 * Keeps compiled and type-stripped code between starts. Stripping loads a compiler of some twenty
 * megabytes into every thread that meets TypeScript, for good; with the cache none of them does,
 * and starting takes half the time. JavaScript itself, so that it runs before the first TypeScript
 * file.
 */
export function useCodeCache() {
  module.enableCompileCache?.(FOLDER)
}

/**
 * Fills the cache in a process of its own, so that not even the first start of new code keeps the
 * compiler in memory. Where nothing can be kept, this does nothing.
 *
 * @param {readonly string[]} engineOptions Those of this process: compiled code fits no other set.
 */
export function prepareCode(engineOptions) {
  const stamp = engineOptions.join(' ')
  if (isPrepared(stamp)) return
  try {
    fs.mkdirSync(FOLDER, { recursive: true })
    fs.accessSync(FOLDER, fs.constants.W_OK)
  } catch {
    return
  }
  const program = path.join(import.meta.dirname, './prepare-code.js')
  const { status } = spawnSync(process.execPath, [...engineOptions, program], {
    stdio: 'ignore',
    timeout: PREPARE_LIMIT_MS,
  })
  if (status === 0) fs.writeFileSync(STAMP, stamp)
}

function isPrepared(stamp) {
  const preparedMs = fs.statSync(STAMP, { throwIfNoEntry: false })?.mtimeMs
  if (preparedMs === undefined || fs.readFileSync(STAMP, 'utf8') !== stamp) return false
  return SOURCES.every((folder) => newestMs(folder) <= preparedMs)
}

function newestMs(folder) {
  let newest = 0
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.includes('.test.')) continue
    const { mtimeMs } = fs.statSync(path.join(entry.parentPath, entry.name))
    if (mtimeMs > newest) newest = mtimeMs
  }
  return newest
}
