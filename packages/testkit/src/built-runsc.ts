import { fileURLToPath } from 'node:url'

/** The path of the runsc binary that the set-up builds from `runsc/go.mod`. */
export const builtRunsc = fileURLToPath(new URL('../../../runsc/runsc', import.meta.url))
