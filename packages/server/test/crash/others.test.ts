import { test, vi } from 'vitest'
import { expectEverywhere } from '../support/fail-everywhere.ts'
import { onPostgres } from '../support/test-store.ts'
import { otherScenarios } from './other-scenarios.ts'

vi.hoisted(() => {
  process.env.HOLT_FAILPOINTS = `@/tmp/holt-failpoints-${process.pid}-${crypto.randomUUID()}`
})

// The death of a server is that of its SQLite file here; PostgreSQL's own tests kill the database and the daemon.
test.skipIf(onPostgres).each(otherScenarios)('$name, wherever it fails', { timeout: 300_000 }, expectEverywhere)
