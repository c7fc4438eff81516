import '../support/enable-failpoints.ts'
import { failpointNames } from '@holt/failpoints'
import { afterAll, expect, test } from 'vitest'
import { expectEverywhere } from '../support/fail-everywhere.ts'
import { removeFailpoints } from '../support/failpoints.ts'
import { build } from './build-scenario.ts'
import { otherScenarios } from './other-scenarios.ts'
import { runtimeScenarios } from './runtime-scenarios.ts'

afterAll(removeFailpoints)

test.each(runtimeScenarios)('$name, at every failpoint', { timeout: 900_000 }, expectEverywhere)

test('every failpoint of the server is in a scenario', () => {
  const parts = new Set<string>([...runtimeScenarios, ...otherScenarios, build].flatMap((scenario) => scenario.parts))
  // The tests of the real engine, and those in chaos, reach its own. Those of artifacts are in
  // `artifacts.test.ts`.
  const elsewhere = new Set(['host', 'artifact'])
  const partOf = (name: string) => name.split('.', 1)[0] ?? ''
  const left = failpointNames.filter((name) => !elsewhere.has(partOf(name)) && !parts.has(partOf(name)))
  expect(left).toEqual([])
})
