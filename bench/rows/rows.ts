import { b3 } from './cold-create.ts'
import { b5 } from './command-round-trip.ts'
import { b7 } from './copy.ts'
import { b1, b2 } from './create-and-run.ts'
import type { Row } from './row.ts'

/** Every row, in the order of the table. */
export const rows: readonly Row[] = [b1, b2, b3, b5, b7]
