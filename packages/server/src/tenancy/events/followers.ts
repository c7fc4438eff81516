import { HoltError } from '@holt/protocol'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import type { EventRow } from '../../foundation/store/event-tables.ts'
import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import type { Tenancy } from '../tenancy.ts'
import { type EventFilter, eventsAfter, isOf, logPosition, reachAfter } from './read-events.ts'

/** The maximum number of streams of one project's log, and of all logs. */
const maxOfProject = 128
const maxOfAll = 1024

/** The maximum number of events that are read at once, and kept for a slow client. */
const batch = 50

/** The part of a log after a cursor. */
interface LogPart {
  /** The first events. May be empty. */
  readonly rows: readonly EventRow[]
  /** The cursor up to which the log was searched. */
  readonly reach: number
  readonly last: number
  /** The cursor of the last removed event. */
  readonly removed: number
}

/** A log for all its streams. The streams at its end share one read of new events. */
class FollowedLog {
  readonly #service: Tenancy
  readonly #projectId: string
  readonly #watch: Disposable
  readonly #underWay = new Map<number, Promise<LogPart>>()
  streams = 0

  constructor(service: Tenancy, projectId: string) {
    this.#service = service
    this.#projectId = projectId
    // A reader that is notified does not join a read that began earlier.
    this.#watch = service.eventNotifier.watch(projectId, () => this.#underWay.clear())
  }

  /**
   * Reads after a cursor. The result is durable. With `afresh` it has everything that was committed
   * before the call.
   */
  async after(filter: EventFilter, at: number, afresh: boolean): Promise<LogPart> {
    const end = await (afresh ? this.#readEnd(at) : this.#end(at))
    if (end.last - at > batch) return this.#behind(filter, at, end.last)
    return { ...end, rows: end.rows.filter((row) => isOf(filter, row)) }
  }

  close(): void {
    this.#watch[Symbol.dispose]()
  }

  /** Reads the end of the log. There are no rows if it is far from the cursor. */
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

  /** Reads for a stream that lags, with its own filter. */
  async #behind(filter: EventFilter, at: number, last: number): Promise<LogPart> {
    const { store } = this.#service
    const rows = await readOneByOne(this.#service, filter, () => eventsAfter(store.db, filter, at, batch))
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

/** A reader of a log, until it is disposed of. Disposal is idempotent. */
export interface Follower extends Disposable {
  after: FollowedLog['after']
}

/** The streams of all logs. */
export class Followers {
  readonly #logs = new Map<string, FollowedLog>()
  #all = 0

  /** Adds a stream. Throws if there are too many. */
  enter(service: Tenancy, projectId: string): Follower {
    if ((this.#logs.get(projectId)?.streams ?? 0) >= maxOfProject)
      throw limitReached('quota_exceeded', `${maxOfProject} streams read the log of the project, which is the limit.`, {
        limit: maxOfProject,
        hint: 'Share one stream between readers, or read pages from the last cursor.',
      })
    if (this.#all >= maxOfAll)
      throw new HoltError('unavailable', 'The service has reached its limit of streams that read event logs.')
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

/** Adds a stream of a project's log, until it ends or its client disconnects. */
export function followLog(service: Tenancy, projectId: string, gone: AbortSignal): Follower {
  const follower = service.followers.enter(service, projectId)
  if (gone.aborted) follower[Symbol.dispose]()
  // A stream that the client never reads does not even begin, so only this removes it.
  else gone.addEventListener('abort', () => follower[Symbol.dispose](), { once: true })
  return follower
}
