import { leftOut } from './files-of-run.ts'

/**
 * Prints the options of vitest for the files of end-to-end tests that this run leaves out, one on
 * each line. A list of the others would not do: vitest also runs files that end with a name.
 */
for (const name of leftOut()) console.log(`--exclude=**/${name}.test.ts`)
