import { expect, test } from 'vitest'
import { migrations } from '../../../src/foundation/store/migrations/migrations.ts'
import { readsFrom } from '../../../src/foundation/store/migrations/reads-from.ts'

/** The first migration that says which daemons work with it. */
const first = 25

const newer = migrations.map((sql, at) => [at + 1, sql] as const).filter(([version]) => version >= first)

/** The statements that a daemon without them does not notice. */
const additions = [
  /^CREATE (?:UNIQUE )?INDEX /,
  /^CREATE TABLE /,
  /^CREATE VIEW /,
  /^ALTER TABLE \w+ ADD COLUMN (?!.*\bNOT NULL\b(?!.*\bDEFAULT\b))/s,
]

/** Returns the statements of a migration without its comments. */
function statementsOf(sql: string): readonly string[] {
  const plain = sql.replaceAll(/--.*$/gm, '')
  return plain
    .split(';')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

test.each(newer)('migration %i says from which schema it can be read', (version) => {
  expect(Object.keys(readsFrom).map(Number), 'add it to reads-from.ts, or state there that it cannot').toContain(
    version,
  )
  expect(readsFrom[version]).toBeLessThanOrEqual(version)
})

test.each(newer.filter(([version]) => (readsFrom[version] ?? version) < version))(
  'migration %i only adds',
  (_, sql) => {
    for (const statement of statementsOf(sql))
      expect(
        additions.some((addition) => addition.test(statement)),
        statement,
      ).toBe(true)
  },
)

test.each([
  ['ALTER TABLE hosts ADD COLUMN a INTEGER', true],
  ['ALTER TABLE hosts ADD COLUMN a INTEGER NOT NULL DEFAULT 0', true],
  ['ALTER TABLE hosts ADD COLUMN a INTEGER NOT NULL', false],
  ['ALTER TABLE hosts DROP COLUMN a', false],
  ['UPDATE hosts SET beat = 0', false],
])('%s is an addition: %s', (statement, isAddition) => {
  expect(additions.some((addition) => addition.test(statement))).toBe(isAddition)
})
