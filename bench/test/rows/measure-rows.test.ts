import { expect, it } from 'vitest'
import { measureRows, type RowRun } from '../../rows/measure-rows.ts'
import type { Row } from '../../rows/row.ts'

const row = (id: string): Row => ({
  id,
  title: id,
  environment: {},
  measure: () => Promise.reject(new Error('not measured here')),
})
const group = (...ids: string[]) => ({ environment: {}, rows: ids.map(row) })

/** Returns a run that records its calls. `broken` names the calls that throw. */
function recorded(log: string[], broken: readonly string[], { rowsAllowed = 99, signal = never } = {}): RowRun<number> {
  let stages = 0
  const isBroken = (what: string) => {
    if (broken.includes(what)) throw new Error(`${what} is broken`)
  }
  return {
    signal,
    open: async (_environment, use) => {
      const stage = ++stages
      isBroken(`open ${stage}`)
      await use(stage)
      isBroken(`close ${stage}`)
    },
    refusal: () => (log.length < rowsAllowed ? null : 'the time is over'),
    measure: async ({ id }, stage) => {
      isBroken(id)
      log.push(`${id} on ${stage}`)
    },
    fail: async ({ id }, error) => {
      log.push(`${id} failed: ${(error as Error).message}`)
    },
    warn: (error) => {
      log.push(`warning: ${(error as Error).message}`)
    },
  }
}

const never = new AbortController().signal

it('measures the rows of a group on one stage', async () => {
  const log: string[] = []
  await measureRows([group('B1', 'B2'), group('B3')], recorded(log, []))
  expect(log).toEqual(['B1 on 1', 'B2 on 1', 'B3 on 2'])
})

it('continues on a new stage after a failed row', async () => {
  const log: string[] = []
  await measureRows([group('B1', 'B2', 'B3')], recorded(log, ['B2']))
  expect(log).toEqual(['B1 on 1', 'B2 failed: B2 is broken', 'B3 on 2'])
})

it('reports a stage that does not open for one row, and tries again for the next', async () => {
  const log: string[] = []
  await measureRows([group('B1', 'B2')], recorded(log, ['open 1']))
  expect(log).toEqual(['B1 failed: open 1 is broken', 'B2 on 2'])
})

it('keeps the rows of a stage that does not close', async () => {
  const log: string[] = []
  await measureRows([group('B1'), group('B2')], recorded(log, ['close 1']))
  expect(log).toEqual(['B1 on 1', 'warning: close 1 is broken', 'B2 on 2'])
})

it('records each row that cannot start', async () => {
  const log: string[] = []
  await measureRows([group('B1', 'B2', 'B3')], recorded(log, [], { rowsAllowed: 1 }))
  expect(log).toEqual(['B1 on 1', 'B2 failed: the time is over', 'B3 failed: the time is over'])
})

it('ends when it is interrupted', async () => {
  const log: string[] = []
  const signal = AbortSignal.abort(new Error('interrupted'))
  await expect(measureRows([group('B1', 'B2')], recorded(log, ['B1'], { signal }))).rejects.toThrow('interrupted')
  expect(log).toEqual([])
})
