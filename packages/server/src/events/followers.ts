import { HoltError } from '@holt/protocol'
import { limitReached } from '../limits/limit-reached.ts'
import type { Service } from '../service.ts'
import type { EventRow } from '../store/event-tables.ts'
import { readInTurn } from '../store/read-in-turn.ts'
import { type EventFilter, eventsAfter, isOf, logPosition, reachAfter } from './read-events.ts'

/** The most streams of one project's log, and of the logs of all. */
const maxOfProject = 128
const maxOfAll = 1024

/** How many events are read at once, and kept for a client that does not read. */
const batch = 50

/** What of a log is after a cursor. */
interface LogPart {
  /** The first ones, which may be none. */
  readonly rows: readonly EventRow[]
  /** How far was looked for them. */
  readonly reach: number
  readonly last: number
  /** The last one that is no longer kept. */
  readonly removed: number
}

/**
 * A log, for all streams of it: those at its end all stand at the same place, and what comes is
 * read once for them.
 */
class FollowedLog {
  readonly #service: Service
  readonly #projectId: string
  readonly #news: Disposable
  readonly #underWay = new Map<number, Promise<LogPart>>()
  streams = 0

  constructor(service: Service, projectId: string) {
    this.#service = service
    this.#projectId = projectId
    // Whoever is told of news does not join a read that began before.
    this.#news = service.eventNews.watch(projectId, () => this.#underWay.clear())
  }

  /**
   * Reads on after a cursor. What it answers is durable, and with `afresh` has all that was
   * committed before it was asked for.
   */
  async after(filter: EventFilter, at: number, afresh: boolean): Promise<LogPart> {
    const end = await (afresh ? this.#readEnd(at) : this.#end(at))
    if (end.last - at > batch) return this.#behind(filter, at, end.last)
    return { ...end, rows: end.rows.filter((row) => isOf(filter, row)) }
  }

  close(): void {
    this.#news[Symbol.dispose]()
  }

  /** The end of the log, without rows where it is far from the cursor. */
  #end(at: number): Promise<LogPart> {
    const underWay = this.#underWay.get(at)
    if (underWay !== undefined) return underWay
    const reading: Promise<LogPart> = this.#readEnd(at).finally(() => {
      if (this.#underWay.get(at) === reading) this.#underWay.delete(at)
    })
    this.#underWay.set(at, reading)
    return reading
  }

  async #readEnd(at: number): Promise<LogPart> {
    const { store } = this.#service
    const { last } = await logPosition(store.db, this.#projectId)
    const isNear = last > at && last - at <= batch
    const rows = isNear ? await eventsAfter(store.db, { projectId: this.#projectId }, at, batch) : []
    return this.#settled({ rows, reach: last, last }, at)
  }

  /** A stream that lags reads what is its own. */
  async #behind(filter: EventFilter, at: number, last: number): Promise<LogPart> {
    const { store } = this.#service
    const rows = await readInTurn(store, filter, () => eventsAfter(store.db, filter, at, batch))
    const full = rows.length === batch ? rows.at(-1) : undefined
    return this.#settled({ rows, reach: full?.cursor ?? reachAfter(filter, at, last), last }, at)
  }

  async #settled(read: Omit<LogPart, 'removed'>, at: number): Promise<LogPart> {
    const { store } = this.#service
    const { removed } = await logPosition(store.db, this.#projectId)
    if (read.last > at) await store.settled()
    return { ...read, removed }
  }
}

/** Who follows a log, until it is disposed of; once is enough. */
export interface Follower extends Disposable {
  after: FollowedLog['after']
}

/** The streams of all logs. */
class Followers {
  readonly #logs = new Map<string, FollowedLog>()
  #all = 0

  /** Makes place for one more stream. */
  enter(service: Service, projectId: string): Follower {
    if ((this.#logs.get(projectId)?.streams ?? 0) >= maxOfProject)
      throw limitReached('quota_exceeded', `${maxOfProject} streams read the log of the project, which is the most.`, {
        limit: maxOfProject,
        hint: 'Have one stream for several readers, or read pages from the cursor of the last one.',
      })
    if (this.#all >= maxOfAll) throw new HoltError('unavailable', 'As many streams read logs of events as can.')
    const log = this.#logs.get(projectId) ?? new FollowedLog(service, projectId)
    this.#logs.set(projectId, log)
    log.streams += 1
    this.#all += 1
    let left = false
    const leave = () => {
      if (left) return
      left = true
      log.streams -= 1
      this.#all -= 1
      if (log.streams > 0) return
      this.#logs.delete(projectId)
      log.close()
    }
    return { after: (...asked) => log.after(...asked), [Symbol.dispose]: leave }
  }
}

const all = new WeakMap<Service, Followers>()

/** Makes place for a stream of a project's log, until it ends or its client has gone. */
export function followLog(service: Service, projectId: string, gone: AbortSignal): Follower {
  const followers = all.get(service) ?? new Followers()
  all.set(service, followers)
  const follower = followers.enter(service, projectId)
  if (gone.aborted) follower[Symbol.dispose]()
  // A stream of which nobody has asked for anything does not even begin.
  else gone.addEventListener('abort', () => follower[Symbol.dispose](), { once: true })
  return follower
}
