import { describe, expect, it } from 'vitest'
import { cpuTimed } from '../../support/subject.ts'

describe('cpuTimed', () => {
  it('has the CPU time of one of several operations in place of the duration', async () => {
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

  it('fails where the operation failed, or where CPU time is not known', async () => {
    const operation = () => Promise.reject(new Error('no answer'))
    expect((await cpuTimed({ series: 'A', cpuMs: () => 1, operation })).error).toBe('no answer')
    expect((await cpuTimed({ series: 'A', cpuMs: () => null, operation: async () => {} })).error).not.toBeNull()
  })
})
