import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseMountInfo, readMounts } from '../../src/mounts/mount-table.ts'

test('parses mount points with spaces, and optional fields', () => {
  const text = [
    '36 35 98:0 / /mnt/a\\040b rw,noatime master:1 shared:2 - ext4 /dev/loop0 rw,errors=continue',
    '37 35 0:30 /sub /mnt/c ro - overlay none rw,lowerdir=/x',
    'not a mount',
    '',
  ].join('\n')
  expect(parseMountInfo(text)).toMatchObject([
    { point: '/mnt/a b', type: 'ext4', source: '/dev/loop0', options: ['rw', 'noatime'] },
    { point: '/mnt/c', root: '/sub', superOptions: ['rw', 'lowerdir=/x'] },
  ])
})

test('parses the table of this machine: its root is mounted', async () => {
  expect((await readMounts()).map((mount) => mount.point)).toContain('/')
})

test('never throws, for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(' ', '-', '\n', 'a', '\\', '0', '4', ',') }), (text) => {
      for (const mount of parseMountInfo(text)) expect(mount.point).toBeTypeOf('string')
    }),
  )
})
