import { describe, expect, it } from 'vitest'
import { poolMembers, untilFull } from '../../support/pool-gauge.ts'

const metrics = `# HELP holt_pool_members Runtimes of pools.
# TYPE holt_pool_members gauge
holt_pool_members{template="base-small",isolation="gvisor",state="ready"} 2
holt_pool_members{template="base-small",isolation="gvisor",state="making"} 1
holt_pool_members{template="base-small",isolation="container",state="ready"} 7
holt_pool_members{isolation="gvisor",state="ready",template="base-medium"} 9
holt_pool_members_other{template="base-small",isolation="gvisor",state="ready"} 5
`

describe('the gauge of a pool', () => {
  it('counts the members of one template and class', () => {
    expect(poolMembers(metrics, { template: 'base-small', isolation: 'gvisor' })).toEqual({ ready: 2, making: 1 })
    expect(poolMembers(metrics, { template: 'base-medium', isolation: 'gvisor' })).toEqual({ ready: 9, making: 0 })
  })

  it('is zero without metrics', () => {
    expect(poolMembers('', { template: 'base-small', isolation: 'gvisor' })).toEqual({ ready: 0, making: 0 })
  })
})

describe('a full pool', () => {
  it('has enough members, and none in progress', async () => {
    const seen = [
      { ready: 1, making: 1 },
      { ready: 2, making: 1 },
      { ready: 2, making: 0 },
    ]
    let reads = 0
    const { signal } = new AbortController()
    await untilFull(async () => seen[reads++] ?? { ready: 0, making: 9 }, { ready: 2, signal })
    expect(reads).toBe(3)
  })

  it('is not waited for after an interrupt', async () => {
    const signal = AbortSignal.abort(new Error('interrupted'))
    await expect(untilFull(async () => ({ ready: 0, making: 0 }), { ready: 1, signal })).rejects.toThrow()
  })
})
