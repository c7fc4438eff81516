import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { databasePath, type StorePlace } from '../../../src/foundation/store/open-store.ts'
import { hasPostgres, startCluster } from '../../support/postgres-cluster.ts'
import { countedRoutes, type RouteCost, statementsOfRoutes } from '../../support/statements-of-routes.ts'
import { newStateDir } from '../../support/test-store.ts'

/**
 * The recorded costs: a line for each route. A change that adds a statement changes a line.
 * `npm run statements` writes the files again, and their difference belongs to the review.
 */
async function compare(place: StorePlace): Promise<void> {
  const costs = await statementsOfRoutes(place)
  const text = countedRoutes.map(([name]) => `${name} ${lineOf(costs.get(name))}\n`).join('')
  const file = join(import.meta.dirname, `statements-${place.type}.txt`)
  if (process.env.HOLT_RECORD_STATEMENTS === '1') await writeFile(file, text)
  const recorded = await readFile(file, 'utf8')
  expect(text.split('\n'), 'if the change is right: npm run statements').toEqual(recorded.split('\n'))
}

function lineOf(cost: RouteCost | undefined): string {
  if (cost === undefined) return 'was not sent'
  const counts = [...cost.statements].map(([name, count]) => (count === 1 ? name : `${name} x${count}`))
  const total = [...cost.statements.values()].reduce((sum, count) => sum + count, 0)
  return `${cost.status}: ${[total, ...counts].join(', ')}`
}

test('each route sends the recorded statements to SQLite', async () => {
  await compare({ type: 'sqlite', path: databasePath(await newStateDir()) })
})

test.runIf(hasPostgres())('each route makes the recorded round trips to PostgreSQL', async () => {
  await using cluster = await startCluster()
  await compare({ type: 'postgres', url: cluster.url('postgres') })
})
