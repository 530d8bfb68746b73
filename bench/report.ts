import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export type Table = { columns: string[]; rows: string[][] }

const results = path.join(import.meta.dirname, 'results')

/** Prints a result and stores it in `bench/results/` as Markdown and JSON. */
export function publish(name: string, markdown: string, data: unknown) {
  process.stdout.write(`${markdown}\n`)
  mkdirSync(results, { recursive: true })
  writeFileSync(path.join(results, `${name}.md`), `${markdown}\n`)
  writeFileSync(path.join(results, `${name}.json`), `${JSON.stringify(data, null, 2)}\n`)
  process.stdout.write(`\nwritten to bench/results/${name}.md and .json\n`)
}

export function markdownTable({ columns, rows }: Table): string {
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((row) => (row[index] ?? '').length)),
  )
  const line = (cells: string[]) =>
    `| ${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(' | ')} |`
  return [line(columns), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join(
    '\n',
  )
}

export function median(values: number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  const [low = 0, high = 0] = [sorted[middle - 1], sorted[middle]]
  return sorted.length % 2 === 1 ? high : (low + high) / 2
}

/** Formats `12,345 (−4 … +3 %)`: the median, and the distance of the rounds from it. */
export function withSpread(values: number[]): string {
  const middle = median(values)
  const percent = (value: number) => Math.round((value / middle - 1) * 100)
  const [low, high] = [percent(Math.min(...values)), percent(Math.max(...values))]
  const text = Math.round(middle).toLocaleString('en')
  return values.length > 1 && middle > 0 ? `${text} (${low} … +${high} %)` : text
}

/** Processor time of the whole machine, read at the start and the end of a run. */
export type MachineClock = { busy: number; stolen: number; all: number }

export function machineClock(): MachineClock {
  try {
    const line = readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
    const ticks = line.trim().split(/\s+/).slice(1).map(Number)
    const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, stolen = 0] =
      ticks
    const busy = user + nice + system + irq + soft
    return { busy, stolen, all: busy + stolen + idle + wait }
  } catch {
    return { busy: 0, stolen: 0, all: 0 }
  }
}

export function describeMachine(start: MachineClock, loadBefore: number): string {
  const end = machineClock()
  const all = Math.max(1, end.all - start.all)
  const share = (part: number) => `${((part / all) * 100).toFixed(1)} %`
  const cpu = os.cpus()[0]?.model ?? 'unknown processor'
  return [
    `Node ${process.version}, ${os.platform()} ${os.arch()}, ${os.cpus().length} × ${cpu}`,
    `load average before the run ${loadBefore.toFixed(2)}`,
    `during it: busy ${share(end.busy - start.busy)}, stolen by the host ${share(end.stolen - start.stolen)}`,
  ].join('; ')
}
