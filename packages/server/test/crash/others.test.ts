import { test, vi } from 'vitest'
import { expectEverywhere } from '../support/fail-everywhere.ts'
import { otherScenarios } from './other-scenarios.ts'

vi.hoisted(() => {
  process.env.HOLT_FAILPOINTS = `@/tmp/holt-failpoints-${process.pid}-${crypto.randomUUID()}`
})

test.each(otherScenarios)('$name, wherever it fails', { timeout: 300_000 }, expectEverywhere)
