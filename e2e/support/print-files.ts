import { filesOfRun } from './files-of-run.ts'

/** Prints the paths of the files of end-to-end tests that this run has, one on each line. */
for (const name of filesOfRun()) console.log(`e2e/${name}.test.ts`)
