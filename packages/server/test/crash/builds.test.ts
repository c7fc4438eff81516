import '../support/enable-failpoints.ts'
import { afterAll, test } from 'vitest'
import { expectEverywhere } from '../support/fail-everywhere.ts'
import { removeFailpoints } from '../support/failpoints.ts'
import { build } from './build-scenario.ts'

afterAll(removeFailpoints)

// A build has more steps than anything else: 130 failures, each of some seconds on a machine that
// is busy.
test(`${build.name}, at every failpoint`, { timeout: 1_800_000 }, () => expectEverywhere(build))
