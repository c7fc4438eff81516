import { HoltError } from '@holt/protocol'
import { pause } from '../../foundation/async/pause.ts'
import type { Duties } from '../../foundation/host/duties.ts'
import type { ThisHost } from '../../foundation/host/this-host.ts'
import type { Log } from '../../foundation/log.ts'
import type { MasterKeys } from '../../foundation/sealing/master-keys.ts'
import type { Store } from '../../foundation/store/open-store.ts'
import { chooseSealingKey, type HostKeys, type RotationState, rotationState } from './choose-sealing-key.ts'
import { hasOlder, resealAll } from './reseal-all.ts'

/** The parts of a host that shares master keys with others. */
interface SharedKeysOptions {
  readonly store: Store
  readonly masterKeys: MasterKeys
  readonly thisHost: ThisHost
  readonly duties: Duties
  readonly log: Log
}

/**
 * The master keys of a host of a fleet. The operator adds a key to the file of each host. A host
 * reads its file again and reports its keys in its row. It seals with the newest key that all hosts
 * have. When all hosts seal with a key, one of them seals the older values with it. Then the
 * operator may remove the older keys.
 */
export class SharedKeys {
  readonly #options: SharedKeysOptions
  /** The last message of each kind, so that each is logged once. */
  readonly #logged = new Map<string, string>()

  constructor(options: SharedKeysOptions) {
    this.#options = options
  }

  /** Looks until the service closes. Never rejects. */
  async keep({ lookMs, closing }: { readonly lookMs: number; readonly closing: AbortSignal }): Promise<void> {
    const { thisHost, duties, log } = this.#options
    while (!closing.aborted) {
      await pause(lookMs, closing)
      if (closing.aborted || thisHost.fenced) continue
      try {
        await this.look()
        if (duties.holds('resealing')) await this.#rotate()
      } catch (err) {
        if (!closing.aborted) log.warn({ err }, 'the master keys of the fleet could not be compared')
      }
    }
  }

  /** Reads the file again, chooses the key that seals, and reports the keys of this host. */
  async look(): Promise<void> {
    const { masterKeys, thisHost } = this.#options
    await this.#readFile()
    const others = (await this.#hosts()).filter(({ hostId }) => hostId !== thisHost.hostId)
    const sealing = chooseSealingKey(masterKeys.ids, others)
    if (sealing !== null) masterKeys.sealWith(sealing)
    await this.#report()
  }

  /**
   * Seals the values of older keys with the newest one. Returns the number of values. Throws
   * `conflict` with what the operator has to do first, and `unavailable` if the hosts need a
   * moment.
   */
  async rotate(): Promise<number> {
    await this.look()
    const { masterKeys } = this.#options
    const { newestId, lacking, behind } = await this.#state()
    if (!masterKeys.rotating)
      throw new HoltError('conflict', 'The hosts of a fleet share their master keys, and there is no new one.', {
        hint: 'Add a key to the file of one host with `holtd master-key FILE`, and copy the file to all hosts.',
      })
    if (lacking.length > 0)
      throw new HoltError('conflict', `Hosts do not have the master key ${newestId}: ${lacking.join(', ')}.`, {
        hint: 'Copy the file with the master keys to them. Forget hosts that do not come back: holt host forget HOST',
        details: { hosts: lacking },
      })
    if (behind.length > 0)
      throw new HoltError('unavailable', `Hosts begin to seal with the master key ${newestId}: ${behind.join(', ')}.`, {
        details: { hosts: behind, retry_after_secs: 10 },
      })
    return resealAll(this.#options)
  }

  /** Does what is due of a rotation, and logs what the operator has to do. */
  async #rotate(): Promise<void> {
    const { masterKeys, log } = this.#options
    if (!masterKeys.rotating) return
    const { newestId, lacking, behind } = await this.#state()
    if (lacking.length > 0)
      this.#once('lacking', `${newestId} ${lacking.join()}`, () =>
        log.warn(
          { key_id: newestId, hosts: lacking },
          'hosts do not have the newest master key: copy the file to them',
        ),
      )
    if (lacking.length > 0 || behind.length > 0) return
    if (await hasOlder(this.#options)) {
      const count = await resealAll(this.#options)
      log.info({ key_id: newestId, count }, 'values were sealed with the newest master key')
      return
    }
    const older = masterKeys.ids.filter((id) => id !== newestId)
    this.#once('done', `${newestId} ${older.join()}`, () =>
      log.info({ key_ids: older }, 'no value is sealed with the older master keys: remove them from the files'),
    )
  }

  async #readFile(): Promise<void> {
    const { store, masterKeys, log } = this.#options
    try {
      const file = await masterKeys.readFile()
      const dropped = masterKeys.ids.filter((id) => !file.some((key) => key.id === id))
      const needed = new Set<string>()
      if (dropped.length > 0) {
        const rows = await store.db
          .selectFrom('sealed_values')
          .select('master_key_id')
          .distinct()
          .where('master_key_id', 'in', dropped)
          .execute()
        for (const { master_key_id } of rows) needed.add(master_key_id)
      }
      masterKeys.take(file, needed)
      this.#once('needed', [...needed].join(), () => {
        if (needed.size > 0)
          log.error({ key_ids: [...needed] }, 'values are sealed with master keys that the file lacks: put them back')
      })
      this.#logged.delete('file')
    } catch (err) {
      // The keys in memory open everything still.
      this.#once('file', String(err), () => log.error({ err }, 'the file with the master keys cannot be read again'))
    }
  }

  /** Returns the keys of all hosts that may come back. A host without keys opens nothing. */
  async #hosts(): Promise<readonly HostKeys[]> {
    const rows = await this.#options.store.db
      .selectFrom('hosts')
      .select(['host_id', 'key_ids'])
      .where('state', '!=', 'gone')
      .execute()
    return rows.flatMap(({ host_id: hostId, key_ids }) =>
      key_ids === '' ? [] : [{ hostId, keyIds: key_ids.split(',') }],
    )
  }

  async #state(): Promise<RotationState> {
    return rotationState(this.#options.masterKeys.ids, await this.#hosts())
  }

  /** Writes the keys of this host to its row, the one that seals first. */
  async #report(): Promise<void> {
    const { store, masterKeys, thisHost } = this.#options
    const others = masterKeys.ids.filter((id) => id !== masterKeys.currentId)
    const keyIds = [masterKeys.currentId, ...others].join(',')
    await store.db
      .updateTable('hosts')
      .set({ key_ids: keyIds })
      .where('host_id', '=', thisHost.hostId)
      .where('epoch', '=', thisHost.epoch)
      .where('key_ids', '!=', keyIds)
      .execute()
  }

  #once(kind: string, text: string, say: () => void): void {
    if (this.#logged.get(kind) === text) return
    this.#logged.set(kind, text)
    say()
  }
}
