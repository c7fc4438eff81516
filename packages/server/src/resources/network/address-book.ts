import type { SyntheticAddress } from '@holt/egress'
import type { Log } from '../../foundation/log.ts'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import type { Queries, Store } from '../../foundation/store/open-store.ts'

/** The delay of the write of an address, in milliseconds. */
const flushMs = 200

/**
 * The maximum number of addresses of a runtime that survive a restart. The newest are kept, and
 * programs rarely remember more than a few.
 */
const maxKept = 1000

/** The maximum number of addresses that wait for a write. */
const maxWaiting = 4000

/** Returns the addresses that stand for the names of a runtime, oldest first. */
export async function knownAddresses(db: Queries, runtimeId: string): Promise<readonly SyntheticAddress[]> {
  return db
    .selectFrom('runtime_addresses')
    .select(['address', 'name'])
    .where('runtime_id', '=', runtimeId)
    .orderBy('seq')
    .execute()
}

/**
 * Records the name of each address in the background. A program that remembers an address thus
 * reaches the same host after a restart.
 */
export class AddressBook {
  readonly #store: Store
  readonly #log: Log
  #waiting: { readonly runtimeId: string; readonly assigned: SyntheticAddress }[] = []
  #timer: NodeJS.Timeout | null = null

  constructor(store: Store, log: Log) {
    this.#store = store
    this.#log = log
  }

  /** Records an address. It replaces an earlier name of the address. */
  add(runtimeId: string, assigned: SyntheticAddress): void {
    if (this.#waiting.length >= maxWaiting) return
    this.#waiting.push({ runtimeId, assigned })
    this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref()
  }

  /** Writes the waiting addresses. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const batch = this.#waiting
    this.#waiting = []
    if (batch.length === 0) return
    try {
      await this.#store.change(aloneWithRow, (changes) => this.#write(changes, batch))
    } catch (error) {
      // After a restart, the programs look the names up again.
      this.#log.warn({ err: error, addresses: batch.length }, 'synthetic addresses could not be written')
    }
  }

  async #write(
    changes: Queries,
    batch: readonly { readonly runtimeId: string; readonly assigned: SyntheticAddress }[],
  ): Promise<void> {
    for (const { runtimeId, assigned } of batch) {
      const { address, name } = assigned
      await changes
        .deleteFrom('runtime_addresses')
        .where('runtime_id', '=', runtimeId)
        .where('address', '=', address)
        .execute()
      await changes
        .insertInto('runtime_addresses')
        .columns(['runtime_id', 'address', 'name'])
        .expression((query) =>
          query
            .selectFrom('runtimes')
            .select(({ val }) => ['runtime_id', val(address).as('address'), val(name).as('name')])
            .where('runtime_id', '=', runtimeId),
        )
        .execute()
    }
    for (const runtimeId of new Set(batch.map((one) => one.runtimeId))) {
      await changes
        .deleteFrom('runtime_addresses')
        .where('runtime_id', '=', runtimeId)
        .where('seq', '<=', ({ selectFrom }) =>
          selectFrom('runtime_addresses')
            .select('seq')
            .where('runtime_id', '=', runtimeId)
            .orderBy('seq', 'desc')
            .limit(1)
            .offset(maxKept),
        )
        .execute()
    }
  }
}
