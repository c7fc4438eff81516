import { expect, test } from 'vitest'
import { bytesInUse } from '../../../../async/test/support/pieces.ts'
import { auditedParams } from '../../../src/tenancy/audit/audit-request.ts'

test('a queued entry keeps shortened parameters, and not the whole request target', async () => {
  const before = await bytesInUse()
  const kept = Array.from({ length: 500 }, (_, n) => {
    const target = Buffer.from(`/v1/agents/runtime/rt-${n}-${'x'.repeat(300)}?${'y'.repeat(15_000)}`).toString('latin1')
    return auditedParams({ runtime_id: target.slice('/v1/agents/runtime/'.length, target.indexOf('?')) })
  })
  expect((await bytesInUse()) - before).toBeLessThan(2 ** 20)
  expect(kept[1]?.runtime_id).toBe(`rt-1-${'x'.repeat(195)}`)
})
