import { describe, expect, test } from 'vitest'
import { RequestRate } from '../../src/session/rate.ts'

describe('the rate of a runtime', () => {
  test('allows a burst, refuses more, and reports a flood', () => {
    const rate = new RequestRate()
    const taken = Array.from({ length: 6000 }, () => rate.takeStream())
    expect(taken.slice(0, 2000).every((one) => one === 'ok')).toBe(true)
    expect(taken).toContain('refused')
    expect(taken.at(-1)).toBe('flood')
    expect(taken.indexOf('flood')).toBeGreaterThan(taken.indexOf('refused'))
  })

  test('delays requests instead of refusing them', async () => {
    const rate = new RequestRate()
    let passed = 0
    const paced = Array.from({ length: 2010 }, () => rate.pace().then(() => passed++))
    const beyond = Array.from({ length: 20_000 }, () => rate.pace())
    await Promise.race(beyond.slice(-1).concat(Promise.all(paced.slice(0, 2000)).then(() => undefined)))
    expect(passed).toBeGreaterThanOrEqual(2000)
    let isLastThrough = false
    void beyond.at(-1)?.then(() => {
      isLastThrough = true
    })
    await Promise.all(paced)
    expect(passed).toBe(2010)
    expect(isLastThrough).toBe(false)
  })
})
