import { randomBytes } from 'node:crypto'
import { daemonClass, schemaHash } from './advisory-locks.ts'
import { sessionName, takeDatabase } from './lock.ts'
import { makeOwnTables, migratePostgres, requireKnownSchema } from './schema.ts'
import { retryMs, Session } from './session.ts'

/** The name of the writer in the database of a fleet. */
const fleetName = 'fleet'

/** A machine that has vanished loses the lock within half a minute. */
const settings = 'SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3'

interface GuardOptions {
  readonly url: string
  /**
   * Called once when another daemon has taken the database. The state of this daemon is no longer
   * reliable then.
   */
  readonly onTaken: (error: Error) => void
}

/**
 * Joins the daemons that share a database, and migrates it. Nothing of it lasts in the session, so
 * it may be a pooler's. Throws if one daemon has the database for itself.
 */
export async function joinFleet(url: string): Promise<void> {
  const session = await Session.open(url, 'holtd')
  session.limitStatements(null)
  try {
    await requireKnownSchema(session)
    await makeOwnTables(session)
    const { rows } = await session.script(
      `BEGIN; SELECT pg_try_advisory_xact_lock_shared(${daemonClass}, ${schemaHash}) AS free`,
    )
    if (!(rows[0] as { free: boolean }).free) throw new Taken('another holtd uses this database for itself')
    await session.script(`UPDATE holt_writer SET daemon = '${fleetName}' WHERE daemon <> '${fleetName}'; COMMIT`)
    await migratePostgres(session)
  } finally {
    await session.close()
  }
}

/**
 * The guard of a database that is for one daemon alone. A session holds the database's lock, so no
 * second daemon starts. A row has the name of the daemon, and each change locks that row in share
 * mode by its first statement. So a daemon that has lost the lock cannot write after another has
 * taken the database, which first waits for the changes under way.
 */
export class OneDaemon {
  /**
   * The FROM clause of the first statement of each change, in SQL. It has no row if the database
   * is another daemon's.
   */
  readonly from: string
  readonly #options: GuardOptions
  readonly #daemonId = randomBytes(10).toString('hex')
  #session: Session | null = null
  #ended = false

  private constructor(options: GuardOptions) {
    this.#options = options
    this.from = `FROM holt_writer WHERE daemon = '${this.#daemonId}' FOR SHARE`
  }

  /**
   * Takes the database, and migrates it. Throws if it cannot be reached, or if another daemon or a
   * fleet has it.
   */
  static async take(options: GuardOptions): Promise<OneDaemon> {
    const guard = new OneDaemon(options)
    await guard.#hold(async (session) => {
      session.limitStatements(null)
      await requireKnownSchema(session)
      await makeOwnTables(session)
      if ((await writerIn(session)) === fleetName)
        throw new Error('this database belongs to a fleet: set HOLT_FLEET=1 to join it')
      await migratePostgres(session)
      // Waits for the changes of a daemon that has lost its lock.
      await session.script(`UPDATE holt_writer SET daemon = '${guard.#daemonId}'`)
    })
    return guard
  }

  /** Notes that the database is another daemon's. Returns the error. */
  taken(): Error {
    const error = new Taken('another holtd has taken the database of this one')
    if (!this.#ended) this.#options.onTaken(error)
    this.#ended = true
    return error
  }

  async close(): Promise<void> {
    this.#ended = true
    await this.#session?.close()
  }

  /** Connects and takes the lock. */
  async #hold(prepare: (session: Session) => Promise<void>): Promise<void> {
    const session = await Session.open(this.#options.url, sessionName(this.#daemonId))
    try {
      if (!(await takeDatabase(session, this.#daemonId))) throw new Taken('another holtd uses this database')
      await session.script(settings)
      await prepare(session)
    } catch (error) {
      await session.close()
      throw error
    }
    if (this.#ended) return session.close()
    this.#session = session
    void session.lost.then(() => this.#again())
  }

  /** Takes the lock again after a break. Retries until it succeeds or the store is closed. */
  async #again(): Promise<void> {
    for (let pause = retryMs.first; !this.#ended; pause = Math.min(2 * pause, retryMs.longest)) {
      try {
        await this.#hold(async (session) => {
          if ((await writerIn(session)) !== this.#daemonId) throw new Taken('another holtd has taken this database')
        })
        return
      } catch (error) {
        if (error instanceof Taken) this.taken()
      }
      await new Promise((resolve) => setTimeout(resolve, pause).unref())
    }
  }
}

async function writerIn(session: Session): Promise<string | undefined> {
  const { rows } = await session.script('SELECT daemon FROM holt_writer')
  return (rows[0] as { daemon: string } | undefined)?.daemon
}

class Taken extends Error {
  override readonly name = 'Taken'
}
