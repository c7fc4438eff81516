import { expect, test } from 'vitest'
import { findRootPlace } from '../../src/host/find-root-place.ts'

test('takes a directory in which nothing lies that a runner needs', async () => {
  expect(await findRootPlace(['/tmp'])).toBe('/mnt')
  expect(await findRootPlace(['/tmp', '/mnt'])).not.toBe('/mnt')
})
