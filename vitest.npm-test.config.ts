import { filesLeftOut, seedRun } from '@holt/testkit'
import { unitConfig } from './vitest.config.ts'

// The files are drawn before the global set-up runs.
seedRun()

/** The tests of the packages as `npm test` runs them: a short run leaves out some files. */
export default unitConfig(filesLeftOut())
