import { describe, expect, it } from 'vitest'
import { cpuTimed } from '../../support/subject.ts'

describe('cpuTimed', () => {
  it('uses the CPU time of one of several operations in place of the duration', async () => {
    let spent = 100
    const operation = async () => {
      spent += 40
    }
    expect(await cpuTimed({ series: 'A', cpuMs: () => spent, count: 10, operation })).toEqual({
      series: 'A',
      ms: 4,
      error: null,
    })
  })

  it('fails if the operation failed or if CPU time is unknown', async () => {
    const operation = () => Promise.reject(new Error('no answer'))
    expect((await cpuTimed({ series: 'A', cpuMs: () => 1, operation })).error).toBe('no answer')
    expect((await cpuTimed({ series: 'A', cpuMs: () => null, operation: async () => {} })).error).not.toBeNull()
  })
})
