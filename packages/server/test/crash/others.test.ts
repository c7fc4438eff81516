import '../support/enable-failpoints.ts'
import { afterAll, test } from 'vitest'
import { expectEverywhere } from '../support/fail-everywhere.ts'
import { removeFailpoints } from '../support/failpoints.ts'
import { otherScenarios } from './other-scenarios.ts'

afterAll(removeFailpoints)

test.each(otherScenarios)('$name, at every failpoint', { timeout: 900_000 }, expectEverywhere)
