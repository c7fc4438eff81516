import { afterAll, beforeAll } from 'vitest'
import { service } from './facts.ts'
import { closeConnections } from './http.ts'
import { addedTo, type Belongings, listBelongings } from './leaks.ts'
import { removeAll } from './remove-all.ts'
import { until } from './until.ts'

/** Spare disks are formatted and connections time out in the background; both are done by then. */
const SETTLE_TIMEOUT_MS = 30_000

let before: Belongings = []

beforeAll(() => {
  before = listBelongings(service)
})

// Hooks of this kind run last to first, and this file is set up first: all that a test file cleans
// up itself is done.
afterAll(async () => {
  await removeAll(service)
  closeConnections()
  let added: Belongings = []
  await until(
    'nothing has leaked',
    async () => {
      added = addedTo(before, listBelongings(service))
      return added.length === 0
    },
    SETTLE_TIMEOUT_MS,
  ).catch((cause: unknown) => {
    throw new Error(`left behind:\n${added.join('\n')}`, { cause })
  })
})
