import { type Id, makeId } from '@holt/protocol'
import { describe, expect, it } from 'vitest'
import { buildIdOf, buildUuid } from '../../src/index.ts'

describe('ids of builds as UUIDs', () => {
  it('returns each id again', () => {
    const ids = Array.from({ length: 1000 }, () => makeId('build'))
    expect(ids.map((id) => buildIdOf(buildUuid(id)))).toEqual(ids)
  })

  it.each(['0'.repeat(20), '9'.repeat(20), 'z'.repeat(20), `${'0'.repeat(19)}1`])(
    'returns the id of %s again',
    (text) => {
      const id = `bd${text}` as Id<'build'>
      expect(buildIdOf(buildUuid(id))).toBe(id)
    },
  )

  it('makes UUIDs of version 8 with the variant of RFC 9562', () => {
    for (let count = 0; count < 100; count += 1)
      expect(buildUuid(makeId('build'))).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      )
  })

  it('reads upper-case UUIDs', () => {
    const id = makeId('build')
    expect(buildIdOf(buildUuid(id).toUpperCase())).toBe(id)
  })

  it.each([
    ['a text of another kind', 'latest'],
    ['a UUID of another version', '6f2c0c0e-4e0c-4f3a-9d3e-1b2c3d4e5f60'],
    ['a UUID above the highest id', 'ffffffff-ffff-8fff-bfff-ffffffffffff'],
  ])('knows no id for %s', (_, uuid) => {
    expect(buildIdOf(uuid)).toBeUndefined()
  })
})
