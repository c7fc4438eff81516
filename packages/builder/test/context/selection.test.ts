import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { emptyContext } from '../../src/context/open-context.ts'
import { contextOf, contextOfBytes, contextOfFiles, listing, member, tarOfDisk } from '../support/context-archive.ts'

const base = () => [
  member.directory('d', { mode: 0o755 }),
  member.file('d/run', 'text', { mode: 0o755 }),
  member.symlink('d/link', 'run'),
]

test('the digest covers names, modes, contents and targets, and not times, owners or other files', async () => {
  const digest = async (members: Parameters<typeof contextOf>[0]) =>
    (await (await contextOf(members)).select(['d'])).digest
  const same = await digest(base())
  const later = { mtimeSecs: 5, uid: 7 }
  expect(
    await digest([
      member.file('beside', 'x'),
      member.symlink('d/link', 'run'),
      member.file('d/run', 'text', { mode: 0o755, ...later }),
      member.directory('d', later),
    ]),
  ).toBe(same)
  const others = await Promise.all(
    [
      [...base(), member.file('d/more')],
      [...base().slice(0, 1), member.file('d/run', 'text', { mode: 0o644 }), member.symlink('d/link', 'run')],
      [...base().slice(0, 1), member.file('d/run', 'Text', { mode: 0o755 }), member.symlink('d/link', 'run')],
      [...base().slice(0, 2), member.symlink('d/link', 'ruN')],
      [...base().slice(0, 2), member.file('d/link', 'run')],
      [...base().slice(0, 2), member.hardlink('d/link', 'd/run')],
      [...base().slice(0, 2), member.symlink('d/Link', 'run')],
      [...base(), member.directory('d/sub')],
      [...base(), member.directory('d/sub', { mode: 0o700 })],
    ].map(digest),
  )
  expect(new Set([same, ...others]).size).toBe(others.length + 1)
})

test('a moved tree has the same digest, since names are relative', async () => {
  const context = await contextOf([...base(), ...base().map((entry) => ({ ...entry, path: `moved/${entry.path}` }))])
  expect((await context.select(['moved/d'])).digest).toBe((await context.select(['d'])).digest)
  expect((await context.select(['moved'])).digest).not.toBe((await context.select(['d'])).digest)
})

test('keeps modes, times and sparse content, sets the owner to root, and can be packed twice', async () => {
  const bytes = tarOfDisk({ 'x/script.sh': '#!/bin/sh\n', 'x/big': 'b'.repeat(3 << 20), 'ünïcode/ö': '1' }, [
    '--mode=u=rwx,go=rx',
    '--mtime=@1234567890.25',
    '--format=pax',
  ])
  const selection = await (await contextOfBytes(bytes)).select(['.'])
  const first = await listing(selection)
  expect(first['x/script.sh']).toBe('755 #!/bin/sh\n')
  expect(first['ünïcode/ö']).toBe('755 1')
  expect(
    createHash('sha256')
      .update(first['x/big'] ?? '')
      .digest('hex'),
  ).toBe(
    createHash('sha256')
      .update(`755 ${'b'.repeat(3 << 20)}`)
      .digest('hex'),
  )
  expect(await listing(selection)).toEqual(first)
})

test('directories come before their content', async () => {
  const context = await contextOfFiles({ 'a/b/c': '', 'a-b/c': '', 'a.b': '', 'a/b.c': '' })
  const order = Object.keys(await listing(await context.select(['.'])))
  for (const name of order) {
    const parent = name.split('/').slice(0, -1).join('/')
    if (parent !== '') expect(order.indexOf(parent)).toBeLessThan(order.indexOf(name))
  }
  expect(order).toHaveLength(7)
})

test('a build without a context has an empty one', async () => {
  await expect(emptyContext().select(['x'])).rejects.toThrow(/Nothing in the context/)
  expect(await emptyContext().select(['.'])).toMatchObject({ kind: 'tree', entries: 0 })
})

test('any selection of any tree is complete', async () => {
  const name = fc.stringMatching(/^[a-c]{1,2}$/)
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'))
  await fc.assert(
    fc.asyncProperty(fc.dictionary(path, fc.string({ maxLength: 20 }), { maxKeys: 12 }), async (given) => {
      const paths = Object.keys(given).filter((one) => !Object.keys(given).some((other) => other.startsWith(`${one}/`)))
      const files = Object.fromEntries(paths.map((one) => [one, given[one] ?? '']))
      const context = await contextOfFiles(files)
      if (paths.length === 0) return
      const all = await listing(await context.select(['.']))
      for (const one of paths) expect(all[one]).toBe(`644 ${files[one]}`)
      expect(Object.values(all).filter((what) => what !== '755 /')).toHaveLength(paths.length)
    }),
    { numRuns: 60 },
  )
})
