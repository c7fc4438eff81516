import { migrations } from '../migrations/migrations.ts'
import { refuseNewer } from '../migrations/refuse-newer.ts'
import { codeOf, StatementError } from './errors.ts'
import { schemaVersion } from './schema.ts'
import { retryMs, Session } from './session.ts'

/** The time for a front to migrate the database, in milliseconds. */
const schemaMs = 60_000

/** The SQLSTATE of a table that a role may not read. */
const forbidden = '42501'

/**
 * Waits until a database has the schema of this version. A worker may not migrate it: a front of
 * the same version does. Throws if that takes longer than `timeoutMs`, or if the schema is newer.
 */
export async function awaitSchema(url: string, timeoutMs: number = schemaMs): Promise<void> {
  const deadline = Date.now() + timeoutMs
  const session = await Session.open(url, 'holtd')
  try {
    for (let pause = retryMs.first; ; pause = Math.min(2 * pause, retryMs.longest)) {
      const version = await readableVersion(session)
      if (version !== null) refuseNewer(version)
      if (version === migrations.length) return
      if (Date.now() > deadline) throw tooOld(version)
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  } finally {
    await session.close()
  }
}

/** Returns the version of the schema, or null if this role may not read it. */
async function readableVersion(session: Session): Promise<number | null> {
  try {
    return await schemaVersion(session)
  } catch (error) {
    if (error instanceof StatementError && codeOf(error) === forbidden) return null
    throw error
  }
}

function tooOld(version: number | null): Error {
  if (version === null)
    return new Error('the role of this worker may not read the database: a front has to make it again')
  return new Error(
    `the database has schema ${version}, and this worker needs ${migrations.length}. Start a front of its version first`,
  )
}
