import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { OneAtATime } from '../../src/registry/one-at-a-time.ts'

test('turns follow each other, and a cancelled wait takes none', async () => {
  const turns = new OneAtATime()
  const controller = new AbortController()
  const signal = new AbortController().signal
  const log: string[] = []
  const take = async (name: string, given: AbortSignal) => {
    using _turn = await turns.turn(given)
    log.push(`${name} begins`)
    await setImmediate()
    log.push(`${name} ends`)
  }
  const first = take('first', signal)
  const second = take('second', controller.signal)
  const third = take('third', signal)
  controller.abort(new Error('enough'))
  await expect(second).rejects.toThrow('enough')
  await Promise.all([first, third])
  expect(log).toEqual(['first begins', 'first ends', 'third begins', 'third ends'])
  await expect(turns.turn(controller.signal)).rejects.toThrow('enough')
  await take('last', signal)
  expect(log.at(-1)).toBe('last ends')
})
