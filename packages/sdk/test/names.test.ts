import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openApi } from '@holt/protocol'
import { expect, test } from 'vitest'

const source = join(import.meta.dirname, '../src')

/**
 * The optional fields of exported interfaces and of options in signatures: `readonly waitSecs?:
 * number`.
 */
async function optionNames(): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for await (const name of glob('**/*.ts', { cwd: source }))
    for (const [, option = ''] of (await readFile(join(source, name), 'utf8')).matchAll(/readonly (\w+)\?:/g))
      found.add(option)
  return found
}

/** The names of every field and parameter of the API that has more than one word. */
function apiNames(): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { properties, name } = value as { properties?: object; name?: unknown }
    for (const key of Object.keys(properties ?? {})) if (key.includes('_')) found.add(key)
    if (typeof name === 'string' && name.includes('_')) found.add(name)
    for (const one of Object.values(value)) visit(one)
  }
  visit(openApi('1'))
  return found
}

/**
 * Two different things: the wait of this client and a command's own limit, a sync that only decides
 * and a create.
 */
const clientOwn = ['timeoutSecs', 'dryRun']

test('an option of the API has the same name here', async () => {
  const options = await optionNames()
  const camel = new Set(
    [...apiNames()].map((name) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())),
  )
  expect(options.size).toBeGreaterThan(50)
  expect(camel.size).toBeGreaterThan(50)
  expect([...options].filter((name) => camel.has(name) && !clientOwn.includes(name))).toEqual([])
})

test('an option of time is in seconds', async () => {
  // Those of a request inside the client are not options of its user.
  const inside = ['timeoutMs']
  expect(
    [...(await optionNames())].filter((name) => /(?:Ms|_ms|Millis)$/.test(name) && !inside.includes(name)),
  ).toEqual([])
  expect(await readFile(join(source, 'holt.ts'), 'utf8')).not.toMatch(/readonly \w+Ms\?:/)
})
