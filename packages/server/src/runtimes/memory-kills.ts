import type { MemoryKills as Kills, Observed } from '@holt/engine'
import { recordEvent } from '../events/record-event.ts'
import type { Service } from '../service.ts'

/** The least time between two events of one runtime. A program can have itself ended several times in a second. */
const betweenMs = 10_000

/** The most characters of a program's name that an event tells. The guest says it, and a program chooses it. */
const nameMax = 15

/** Kills of one runtime that no event has told yet. */
interface Pending {
  count: number
  last: Kills['last']
}

/**
 * Counts the processes of runtimes that were ended because their memory was used up, and writes events of them: the first at once, further ones of the next seconds together. A runtime of a
 * pool or of a build is nobody's: its processes are only counted.
 */
export class MemoryKills {
  readonly #service: Service
  readonly #pending = new Map<string, Pending>()

  constructor(service: Service) {
    this.#service = service
  }

  /** Takes note of how a runtime is now. */
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
    this.#service.log.info(
      { runtime_id: id, ...data },
      'processes were ended because their runtime had used up its memory',
    )
    await this.#service.store.change(async (changes) => {
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

/** A program's name in characters that do nothing to a terminal or a log. */
function shown(name: string): string {
  return [...name.replace(/\p{C}/gu, '?')].slice(0, nameMax).join('')
}
