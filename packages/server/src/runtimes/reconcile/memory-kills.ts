import type { MemoryKills as Kills, Observed } from '@holt/engine'
import { aloneWithRow } from '../../foundation/store/alone.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import type { Runtimes } from '../runtimes.ts'

/**
 * The least time between two events of a runtime, in milliseconds: a program can cause kills
 * quickly.
 */
const betweenMs = 10_000

/**
 * The maximum number of characters of a program's name in an event. The program chooses its name.
 */
const nameMax = 15

/** The kills of a runtime that no event has reported yet. */
interface Pending {
  count: number
  last: Kills['last']
}

/**
 * Counts the processes that were killed because their runtime was out of memory, and records
 * events: the first kill at once, further ones together every ten seconds. Runtimes of pools and
 * builds belong to no project, so their kills are only counted.
 */
export class MemoryKills {
  readonly #service: Runtimes
  readonly #pending = new Map<string, Pending>()

  constructor(service: Runtimes) {
    this.#service = service
  }

  /** Counts the kills between two observations of a runtime. */
  async note(before: Observed | undefined, now: Observed): Promise<void> {
    const { count, last } = now.memoryKills
    const more = count - (before?.memoryKills.count ?? 0)
    if (more <= 0) return
    this.#service.metrics.runtimes.noteMemoryKills(now.spec.isolation, more)
    const pending = this.#pending.get(now.id)
    if (pending !== undefined) {
      pending.count += more
      pending.last = last
      return
    }
    const rest = { count: 0, last }
    this.#pending.set(now.id, rest)
    const later = setTimeout(() => void this.#tellRest(now), betweenMs)
    later.unref()
    try {
      await this.#tell(now, { count: more, last })
    } catch (error) {
      rest.count += more
      throw error
    }
  }

  async #tellRest(now: Observed): Promise<void> {
    const pending = this.#pending.get(now.id)
    this.#pending.delete(now.id)
    if (pending === undefined || pending.count === 0 || this.#service.closing.aborted) return
    try {
      await this.#tell(now, pending)
    } catch (err) {
      this.#service.log.error({ err, runtime_id: now.id }, 'an event could not be written')
    }
  }

  async #tell({ id, spec }: Observed, { count, last }: Pending): Promise<void> {
    const data = {
      processes: count,
      memory_mib: spec.memoryMiB,
      command_id: last?.command_id ?? null,
      program: last === null ? null : shown(last.name),
    }
    this.#service.log.info({ runtime_id: id, ...data }, 'processes were killed because their runtime was out of memory')
    await this.#service.store.change(aloneWithRow, async (changes) => {
      const row = await changes
        .selectFrom('runtimes')
        .select('project_id')
        .where('runtime_id', '=', id)
        .executeTakeFirst()
      if (row === undefined) return
      const event = { projectId: row.project_id, subjectId: id, data, at: this.#service.now() }
      await recordEvent(changes, { ...event, type: 'runtime.oom_killed' })
    })
  }
}

/** Returns a program's name without control characters, for terminals and logs. */
function shown(name: string): string {
  return [...name.replace(/\p{C}/gu, '?')].slice(0, nameMax).join('')
}
