import { afterAll, test, vi } from 'vitest'
import { expectEverywhere } from '../support/fail-everywhere.ts'
import { removeFailpoints } from '../support/failpoints.ts'
import { otherScenarios } from './other-scenarios.ts'

vi.hoisted(() => {
  process.env.HOLT_FAILPOINTS = `@/tmp/holt-failpoints-${process.pid}-${crypto.randomUUID()}/armed`
})

afterAll(removeFailpoints)

test.each(otherScenarios)('$name, at every failpoint', { timeout: 900_000 }, expectEverywhere)
