import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { findUnit, stopCommand } from '../../foundation/config/daemon-lock.ts'
import { migrations } from '../../foundation/store/migrations/migrations.ts'
import { type StoredSchema, worksWith } from '../../foundation/store/migrations/refuse-newer.ts'
import { type StorePlace, storePlace } from '../../foundation/store/open-store.ts'
import { findDamage } from '../../foundation/store/require-integrity.ts'
import { readSqliteSchema } from '../../foundation/store/sqlite-store.ts'
import { type Check, mustFix, ok, warn } from './check.ts'
import { checkOfFailure } from './postgres-failure.ts'

/** The oldest tested version, as PostgreSQL's own number. */
const oldestPostgres = 150_000

/** Checks that this version can use the store. Only reads it. */
export async function checkStore(settings: Parameters<typeof storePlace>[0]): Promise<Check> {
  const place: StorePlace = storePlace(settings)
  return place.type === 'sqlite' ? checkFile(place.path, settings.stateDir) : checkPostgres(place.url)
}

/** Checks that the database file is intact, and not of a newer version. */
async function checkFile(path: string, stateDir: string): Promise<Check> {
  if ((await stat(path).catch(() => null)) === null) return ok('store', 'the first start makes it')
  const damage = findDamage(path)
  if (damage !== null) {
    // A running daemon would continue to write into the moved file. The log beside the file is
    // needed to recover its data.
    const stop = stopCommand(await findUnit(stateDir))
    const aside = join(dirname(path), 'damaged-store')
    return mustFix(
      'store',
      `${path} is damaged: ${damage}`,
      `${stop} && mkdir ${aside} && mv ${path}* ${aside} && holt import BACKUP`,
    )
  }
  try {
    using database = open(path)
    return checkSchema(
      readSqliteSchema((sql) => database.all(sql)),
      'whole',
    )
  } catch (error) {
    // It is locked or being created, which is no reason to move it aside.
    return warn('store', `${path} cannot be read: ${error instanceof Error ? error.message : 'unknown'}`)
  }
}

function open(path: string): Disposable & { all(sql: string): readonly Record<string, unknown>[] } {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  return { all: (sql) => database.prepare(sql).all(), [Symbol.dispose]: () => database.close() }
}

/** Checks that the database answers, is new enough, and has no newer schema. */
async function checkPostgres(url: string): Promise<Check> {
  const [{ Session }, { storedSchema }, { codeOf }] = await Promise.all([
    import('../../foundation/store/postgres/session.ts'),
    import('../../foundation/store/postgres/schema.ts'),
    import('../../foundation/store/postgres/errors.ts'),
  ])
  try {
    const session = await Session.open(url, 'holtd doctor')
    try {
      const [row] = (await session.query('SHOW server_version_num')).rows as [{ server_version_num: string }]
      const number = Number(row.server_version_num)
      if (number < oldestPostgres)
        return mustFix('store', 'PostgreSQL is older than 15', 'apt-get install postgresql-15')
      return checkSchema(await storedSchema(session), `PostgreSQL ${Math.floor(number / 10_000)}`)
    } finally {
      await session.close()
    }
  } catch (error) {
    return checkOfFailure(
      { code: codeOf(error), message: error instanceof Error ? error.message : 'no reason is known' },
      url,
    )
  }
}

function checkSchema(schema: StoredSchema, what: string): Check {
  const { version } = schema
  if (version > migrations.length && worksWith(schema))
    return ok('store', `${what}, schema ${version} of a newer holtd, which this one (${migrations.length}) can use`)
  if (version <= migrations.length) return ok('store', `${what}, schema ${version} of ${migrations.length}`)
  const message = `its schema ${version} was written by a newer holtd; this one knows ${migrations.length}: install the newer version again`
  return mustFix('store', message, null)
}
