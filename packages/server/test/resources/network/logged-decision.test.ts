import { expect, test } from 'vitest'
import { bytesInUse } from '../../../../async/test/support/pieces.ts'
import { loggedDecision } from '../../../src/resources/network/logged-decision.ts'

test('a queued decision keeps the path of its request, and not the whole head', async () => {
  const before = await bytesInUse()
  const kept = Array.from({ length: 500 }, (_, n) => {
    const head = Buffer.from(`/a/path/of/its/own/${n} ${'x'.repeat(30_000)}`).toString('latin1')
    const asked = { type: 'request', at: 0, name: 'a.example.com', address: null, port: 80 } as const
    const path = head.slice(0, head.indexOf(' '))
    return loggedDecision({ ...asked, allowed: true, rule: 'r', process: null, method: 'GET', path })
  })
  expect((await bytesInUse()) - before).toBeLessThan(2 ** 20)
  expect(kept[1]?.path).toBe('/a/path/of/its/own/1')
})
