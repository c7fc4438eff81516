import { describe, expect, it } from 'vitest'
import { type BatchLength, interleave, isEnough } from '../../support/interleave.ts'
import type { Operation, Subject } from '../../support/subject.ts'

const untilRuleSays: BatchLength = { rounds: null, budgetMs: Number.POSITIVE_INFINITY, leastRounds: 0 }

function operation(series: string, ms: number): Operation {
  return { series, ms, error: null }
}

/**
 * A subject that writes down what is asked of it, and whose CPU clock goes on by `cpu` with each
 * round and tidying.
 */
function recorded(name: string, log: string[], { cpu = 0, background = false } = {}): Subject {
  let spent = 0
  const did = (what: string) => async (round: number) => {
    log.push(`${name} ${what} ${round}`)
    if (what !== 'prepare') spent += cpu
  }
  const perform = did('perform')
  return {
    series: [name],
    prepare: did('prepare'),
    perform: async (round) => {
      await perform(round)
      return [operation(name, 1)]
    },
    tidy: did('tidy'),
    cpuMs: () => spent,
    background,
  }
}

describe('interleave', () => {
  const signal = new AbortController().signal

  it('runs the subjects in turn, each with its setup and cleanup per round', async () => {
    const log: string[] = []
    const subjects = ['A', 'B', 'C'].map((name) => recorded(name, log))
    const measured = await interleave(subjects, { ...untilRuleSays, rounds: 4 }, { signal })
    expect(log.slice(0, 3)).toEqual(['A prepare 0', 'A perform 0', 'A tidy 0'])
    const performed = log.filter((line) => line.includes('perform'))
    const rounds = [0, 1, 2, 3].map((round) => performed.filter((line) => line.endsWith(`${round}`)).join(', '))
    expect(rounds).toEqual([
      'A perform 0, B perform 0, C perform 0',
      'B perform 1, C perform 1, A perform 1',
      'C perform 2, A perform 2, B perform 2',
      'A perform 3, B perform 3, C perform 3',
    ])
    expect(measured.map(({ subject, operations }) => [subject.series[0], operations.length])).toEqual([
      ['A', 4],
      ['B', 4],
      ['C', 4],
    ])
  })

  it('counts the CPU time of rounds and cleanup', async () => {
    const [measured] = await interleave([recorded('A', [], { cpu: 5 })], { ...untilRuleSays, rounds: 3 }, { signal })
    expect(measured?.cpuMs).toBe(30)
  })

  it('counts the whole batch for background work, and excludes rounds of others otherwise', async () => {
    const shared = recorded('A', [], { cpu: 5 })
    const inBackground: Subject = { ...recorded('B', []), cpuMs: shared.cpuMs, background: true }
    const inRounds: Subject = { ...recorded('C', []), cpuMs: shared.cpuMs, background: false }
    const measured = await interleave([shared, inBackground, inRounds], { ...untilRuleSays, rounds: 2 }, { signal })
    expect(measured.map(({ cpuMs }) => cpuMs)).toEqual([20, 20, 0])
  })

  it('reports no CPU time if it is not known', async () => {
    const unknown: Subject = { ...recorded('A', []), cpuMs: () => null }
    const [measured] = await interleave([unknown], { ...untilRuleSays, rounds: 1 }, { signal })
    expect(measured?.cpuMs).toBeNull()
  })

  it('begins no round after an interrupt', async () => {
    const log: string[] = []
    const interrupted = AbortSignal.abort(new Error('interrupted'))
    await expect(
      interleave([recorded('A', log)], { ...untilRuleSays, rounds: 1 }, { signal: interrupted }),
    ).rejects.toThrow('interrupted')
    expect(log).toEqual([])
  })
})

describe('isEnough', () => {
  const fast = [operation('A', 20), operation('B', 500)]
  const slow = [operation('A', 120), operation('B', 500)]

  it.each([
    ['30 rounds where every series is slower than 100 ms', 30, slow, untilRuleSays, 0, true],
    ['not 29', 29, slow, untilRuleSays, 0, false],
    ['not 30 where one series is faster', 30, fast, untilRuleSays, 0, false],
    ['100 in any case', 100, fast, untilRuleSays, 0, true],
    ['as many as are asked for', 7, fast, { ...untilRuleSays, rounds: 7 }, 0, true],
    ['not fewer than are asked for', 50, slow, { ...untilRuleSays, rounds: 60 }, 0, false],
    ['as many as the budget allows', 3, slow, { rounds: null, budgetMs: 1000, leastRounds: 3 }, 1001, true],
    ['the least number whatever the budget', 2, slow, { rounds: null, budgetMs: 1000, leastRounds: 3 }, 9000, false],
  ] as const)('takes %s', (_, rounds, operations, length, elapsedMs, enough) => {
    expect(isEnough(rounds, operations, length, elapsedMs)).toBe(enough)
  })
})
