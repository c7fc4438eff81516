import { readlinkSync } from 'node:fs'
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { relative } from 'node:path'
import { expect } from 'vitest'

/** A sync or a rename: when it began and ended, counted over all of them. */
interface Step {
  readonly what: string
  readonly began: number
  ended: number
}

/** Records the syncs and renames of this process below a directory, until it is disposed of. */
export interface DurabilityRecord extends Disposable {
  /**
   * Expects exactly these steps until now, those of a stage in any order, and each only when all of
   * the stage before had ended: `sync PATH` and `rename FROM TO`, by paths from the directory, the
   * random part of temporary names left out.
   */
  expectStages(stages: readonly (readonly string[])[]): void
}

/** Records what goes through `node:fs/promises`, by which all of this package writes. */
export async function recordDurability(dir: string): Promise<DurabilityRecord> {
  const steps: Step[] = []
  let count = 0
  const recorded = async <Result>(what: string, work: () => Promise<Result>): Promise<Result> => {
    const step = { what, began: count++, ended: Number.POSITIVE_INFINITY }
    steps.push(step)
    const result = await work()
    step.ended = count++
    return result
  }
  const shown = (path: string) => relative(dir, path).replace(/\.tmp-[0-9a-f]+/, '.tmp') || '.'
  await using handle = await fs.open(dir, 'r')
  const handles = Object.getPrototypeOf(handle) as FileHandle
  const { rename } = fs
  const { sync } = handles
  handles.sync = function (this: FileHandle) {
    return recorded(`sync ${shown(readlinkSync(`/proc/self/fd/${this.fd}`))}`, () => sync.call(this))
  }
  fs.rename = (from, to) => recorded(`rename ${shown(`${from}`)} ${shown(`${to}`)}`, () => rename(from, to))
  syncBuiltinESMExports()
  return {
    expectStages: (stages) => {
      const sorted = steps.toSorted((one, other) => one.began - other.began)
      let from = 0
      const found = stages.map(({ length }) => {
        const stage = sorted.slice(from, from + length)
        from += length
        return stage
      })
      expect(found.map((stage) => stage.map(({ what }) => what).sort())).toEqual(
        stages.map((stage) => [...stage].sort()),
      )
      expect(sorted.slice(from).map(({ what }) => what)).toEqual([])
      found.reduce((before, stage) => {
        expect(latest(before)).toBeLessThan(Math.min(...stage.map(({ began }) => began)))
        return stage
      }, [] as Step[])
      expect(latest(sorted)).toBeLessThan(count)
    },
    [Symbol.dispose]: () => {
      handles.sync = sync
      fs.rename = rename
      syncBuiltinESMExports()
    },
  }
}

function latest(steps: readonly Step[]): number {
  return Math.max(-1, ...steps.map(({ ended }) => ended))
}
