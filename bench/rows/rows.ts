import { b8 } from './checkpoints.ts'
import { b14 } from './code.ts'
import { b3 } from './cold-create.ts'
import { b15 } from './command-line.ts'
import { b5 } from './command-round-trip.ts'
import { b16 } from './compatible-client.ts'
import { b7 } from './copy.ts'
import { b1, b2 } from './create-and-run.ts'
import { b4 } from './creates-at-once.ts'
import { b12 } from './egress.ts'
import { b17 } from './forward.ts'
import { b10 } from './get-and-list.ts'
import { b11 } from './idle-runtimes.ts'
import { b18 } from './placement.ts'
import { b13 } from './python-overhead.ts'
import type { Row } from './row.ts'
import { b9 } from './template-build.ts'
import { b6 } from './transfer.ts'

/** All rows, in the order of the table. */
export const rows: readonly Row[] = [b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15, b16, b17, b18]

/**
 * All rows, in the order in which a run measures them. Rows that share a daemon follow each other.
 * If a run reaches its time limit, the last rows are missing: transfers, copies and clients.
 */
export const rowsToRun: readonly Row[] = [
  b1,
  b11,
  b2,
  b4,
  b10,
  b3,
  b5,
  b8,
  b9,
  b12,
  b6,
  b7,
  b13,
  b17,
  b18,
  b15,
  b16,
  b14,
]
