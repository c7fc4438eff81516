import { expect, test } from 'vitest'
import { idPrefixes, idSchema, makeId, randomText } from '../src/index.ts'

test('an id is its prefix and 20 characters, and unique', () => {
  const ids = Array.from({ length: 2000 }, () => makeId('runtime'))
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^rt[a-z0-9]{20}$/)
})

test('every kind has a unique prefix', () => {
  const prefixes = Object.values(idPrefixes)
  expect(new Set(prefixes).size).toBe(prefixes.length)
})

test('an id of another kind is refused', () => {
  expect(idSchema('runtime').safeParse(makeId('runtime')).success).toBe(true)
  expect(idSchema('runtime').safeParse(makeId('template')).success).toBe(false)
  expect(idSchema('runtime').safeParse(`${makeId('runtime')}\n`).success).toBe(false)
})

test('random text uses each character about equally often', () => {
  const counts = Map.groupBy(randomText(36_000), (character) => character)
  expect(counts.size).toBe(36)
  for (const found of counts.values()) expect(found.length).toBeGreaterThan(700)
})
