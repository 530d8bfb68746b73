import type { TestProject } from 'vitest/node'
import { startClickhouse, type ClickhouseEngine } from './engine.ts'

let engine: ClickhouseEngine | undefined

/** Runs once before the checks. */
export async function setup(project: TestProject): Promise<void> {
  engine = await startClickhouse()
  project.provide('clickhouseUrl', engine.url)
}

export async function teardown(): Promise<void> {
  await engine?.stop()
}
