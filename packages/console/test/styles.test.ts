import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../src')

/** Returns the classes that a style sheet gives a look wherever they are: `.tick`, `a.button`. */
function classesIn(sheet: string): ReadonlySet<string> {
  const rules = sheet.replaceAll(/\/\*.*?\*\//gs, '').matchAll(/([^{}]+)\{/g)
  const selectors = [...rules].flatMap(([, selector = '']) => selector.split(','))
  return new Set(selectors.flatMap((selector) => /^[a-z]*(\.[\w-]+)$/.exec(selector.trim())?.[1] ?? []))
}

test('no two style sheets give the same class a look, because those of left pages stay', () => {
  const places = new Map<string, string[]>()
  const files = globSync('**/*.css', { cwd: root })
  expect(files.length).toBeGreaterThan(5)
  for (const file of files)
    for (const name of classesIn(readFileSync(join(root, file), 'utf8')))
      places.set(name, [...(places.get(name) ?? []), file])
  expect([...places].filter(([, sheets]) => sheets.length > 1)).toEqual([])
})
