import { createHash } from 'node:crypto'
import type { Entry } from '@holt/erofs'
import fc from 'fast-check'
import type { Description } from './describe-tree.ts'
import { pattern, streamOf } from './entries.ts'

const name = fc
  .uint8Array({ minLength: 1, maxLength: 40 })
  .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x61 : byte))).toString('latin1'))
  .filter((text) => text !== '.' && text !== '..')

const size = fc.oneof(
  fc.nat(300),
  fc.tuple(fc.nat(4), fc.integer({ min: -1, max: 1 })).map(([blocks, by]) => Math.max(0, blocks * 4096 + by)),
  fc.integer({ min: 1_000_000, max: 1_100_000 }),
)

const xattrs = fc.dictionary(
  fc.tuple(fc.constantFrom('user.', 'trusted.'), fc.stringMatching(/^[a-z]{1,20}$/)).map((parts) => parts.join('')),
  fc.uint8Array({ maxLength: 300 }),
  { maxKeys: 3 },
)

/** One random entry; `under` and `links` choose among what exists by then. */
export const step = fc.record({
  type: fc.constantFrom('file', 'file', 'directory', 'symlink', 'hardlink', 'fifo', 'char'),
  under: fc.nat(),
  links: fc.nat(),
  name,
  mode: fc.nat(0o7777),
  uid: fc.nat(0xffff_fffe),
  gid: fc.nat(0xffff_fffe),
  mtimeSecs: fc.integer({ min: -1e9, max: 4e9 }),
  mtimeNanos: fc.nat(999_999_999),
  size,
  seed: fc.nat(255),
  target: fc.oneof(
    name,
    fc.integer({ min: 1, max: 4095 }).map((length) => 'x'.repeat(length)),
  ),
  xattrs,
})

/** The result of `step`. */
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/**
 * The entries of a random tree, and what the kernel has to show of it, told without the code under
 * test.
 */
export function buildTree(steps: readonly Step[]): {
  entries: Entry[]
  expected: Map<string, Omit<Description, 'sameAs'>>
} {
  const entries: Entry[] = []
  const expected = new Map<string, Omit<Description, 'sameAs'> & { group?: number }>()
  const directories = ['']
  const linkable: string[] = []
  const links = new Map<number, string[]>()
  for (const [index, item] of steps.entries()) {
    const parent = directories[item.under % directories.length] ?? ''
    const path = parent === '' ? item.name : `${parent}/${item.name}`
    if (expected.has(path)) continue
    const attributes = {
      path: Buffer.from(path, 'latin1'),
      mode: item.mode,
      uid: item.uid,
      gid: item.gid,
      mtimeSecs: item.mtimeSecs,
      mtimeNanos: item.mtimeNanos,
    }
    const { mode, uid, gid } = item
    const mtimeNs = String(BigInt(item.mtimeSecs) * 1_000_000_000n + BigInt(item.mtimeNanos))
    const seen = { mode, uid, gid, mtimeNs, nlink: 1 }
    if (item.type === 'hardlink') {
      const source = linkable[item.links % Math.max(1, linkable.length)]
      const found = source === undefined ? undefined : expected.get(source)
      if (source === undefined || found?.group === undefined) continue
      entries.push({ ...attributes, type: 'hardlink', linkTarget: Buffer.from(source, 'latin1') })
      const names = [...(links.get(found.group) ?? []), path]
      links.set(found.group, names)
      expected.set(path, found)
      for (const each of names) expected.set(each, { ...found, nlink: names.length })
      continue
    }
    if (item.type === 'directory') {
      entries.push({ ...attributes, type: 'directory' })
      expected.set(path, { ...seen, type: 'directory', nlink: 2 })
      directories.push(path)
    } else if (item.type === 'symlink') {
      entries.push({ ...attributes, type: 'symlink', linkTarget: Buffer.from(item.target, 'latin1') })
      expected.set(path, { ...seen, mode, type: 'symlink', target: item.target, group: index })
    } else if (item.type === 'fifo') {
      entries.push({ ...attributes, type: 'fifo' })
      expected.set(path, { ...seen, type: 'fifo', group: index })
    } else if (item.type === 'char') {
      entries.push({ ...attributes, type: 'char', rdev: { major: 5, minor: item.seed } })
      expected.set(path, { ...seen, type: 'char', rdev: (5 << 8) | item.seed, group: index })
    } else {
      const content = pattern(item.size, item.seed)
      const own = new Map(Object.entries(item.xattrs))
      entries.push({ ...attributes, type: 'file', size: item.size, body: streamOf([content]), xattrs: own })
      const sha256 = createHash('sha256').update(content).digest('hex')
      const values = [...own].map(([key, value]) => [key, Buffer.from(value).toString('hex')] as const)
      const shown = values.length === 0 ? {} : { xattrs: Object.fromEntries(values) }
      expected.set(path, { ...seen, type: 'file', size: item.size, sha256, ...shown, group: index })
    }
    if (item.type !== 'directory') {
      linkable.push(path)
      links.set(index, [path])
    }
    const above = expected.get(parent)
    if (item.type === 'directory' && above !== undefined) expected.set(parent, { ...above, nlink: above.nlink + 1 })
  }
  const plain = [...expected].map(([path, { group: _, ...seen }]) => [path, seen] as const)
  return { entries, expected: new Map(plain) }
}
