import { expect, test } from 'vitest'
import type { ResolvedMount } from '../../src/steps/resolved-step.ts'
import { mountedBelow } from '../../src/steps/use-mounts.ts'

test('a cache keeps no files of other mounts', () => {
  const secret = (target: string): ResolvedMount => ({ type: 'secret', target, id: 's', mode: 0o400, uid: 0, gid: 0 })
  const mounts = [
    secret('/root/.m2/settings.xml/'),
    secret('/root/.m2/a[b]/c'),
    secret('/root/.m2x'),
    { type: 'tmpfs', target: '/root/.m2' },
    { type: 'tmpfs', target: '/root/.m2/tmp' },
  ] as const
  expect(mountedBelow('/root/.m2', { mounts, script: null })).toEqual(['settings.xml', 'a\\[b]/c', 'tmp'])
  expect(mountedBelow('/root', { mounts: [], script: { path: '/root/run', text: '' } })).toEqual(['run'])
})
