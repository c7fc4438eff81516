import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startHost } from '../../support/fleet.ts'
import { openTestStore } from '../../support/test-store.ts'

const deploy = fileURLToPath(new URL('../../../../../deploy/', import.meta.url))

const files = ['grafana', 'prometheus'].flatMap((dir) =>
  readdirSync(join(deploy, dir)).map((name) => join(deploy, dir, name)),
)

interface Panel {
  readonly title: string
  readonly description: string
  readonly targets: readonly { readonly expr: string }[]
}

/** Returns the names of Holt's metrics in a text, without the parts of a histogram. */
function metricsIn(text: string): readonly string[] {
  const names = text.match(/\bholt_[a-z_]+\b/g) ?? []
  return [...new Set(names.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')))]
}

test('every metric of a dashboard and of an alarm exists', async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const { server } = await startHost(store)
  const { text } = await server.ask('GET', '/metrics')
  const known = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name))
  expect(files).toHaveLength(3)
  for (const file of files) {
    const named = metricsIn(readFileSync(file, 'utf8'))
    expect(named.length, file).toBeGreaterThan(5)
    expect(
      named.filter((name) => !known.has(name)),
      file,
    ).toEqual([])
  }
})

test('every panel of a dashboard has a title, a description and a query', () => {
  for (const file of files.filter((name) => name.endsWith('.json'))) {
    const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { panels: readonly Panel[] }
    for (const { title, description, targets } of panels) {
      expect([title, description].every((text) => text.length > 0)).toBe(true)
      expect(targets.every(({ expr }) => metricsIn(expr).length > 0)).toBe(true)
    }
  }
})
