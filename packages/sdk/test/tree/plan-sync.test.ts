import type { FileInfo } from '@holt/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LocalEntry } from '../../src/tree/local-tree.ts'
import { planSync, type SyncRules } from '../../src/tree/plan-sync.ts'

type Kind = 'file' | 'directory' | 'symlink'

function here(path: string, type: Kind = 'file', sizeBytes = 1): LocalEntry {
  return { path, type, mode: 0o644, modifiedAtNs: 0n, sizeBytes, target: 'target', identity: null }
}

function there(path: string, type: FileInfo['type'] = 'file', more: Partial<FileInfo> = {}): [string, FileInfo] {
  const info = { path: `/t/${path}`, type, size_bytes: 1, mode: '0644', symlink_target: 'target', ...more }
  return [path, info as FileInfo]
}

const root = here('', 'directory')
const rules: SyncRules = { deletes: false, keeps: () => true, isSame: () => true }
const plan = (local: LocalEntry[], remote: [string, FileInfo][], more: Partial<SyncRules> = {}) => {
  const { send, ...rest } = planSync([root, ...local], new Map(remote), { ...rules, ...more })
  return { send: send.map(({ path }) => path), ...rest }
}

test('equal files stay, and files with any difference are sent', () => {
  const local = ['same', 'size', 'mode', 'time', 'new'].map((path) => here(path))
  const remote = [
    there('same'),
    there('size', 'file', { size_bytes: 2 }),
    there('mode', 'file', { mode: '0755' }),
    there('time'),
    there('only-there'),
  ]
  const isSame = ({ path }: LocalEntry) => path !== 'time'
  expect(plan(local, remote, { isSame })).toEqual({
    send: ['size', 'mode', 'time', 'new'],
    makeRoom: [],
    remove: [],
    unchanged: 1,
  })
  expect(plan([here('l', 'symlink')], [there('l', 'symlink', { symlink_target: 'other' })]).send).toEqual(['l'])
})

test('remote files are removed only on request, at their topmost directory', () => {
  const remote = [there('d', 'directory'), there('d/f'), there('d/e', 'directory'), there('d/e/g'), there('kept')]
  expect(plan([here('kept')], remote).remove).toEqual([])
  expect(plan([here('kept')], remote, { deletes: true }).remove).toEqual(['d'])
})

test('excluded files are neither sent nor removed, and neither are their directories', () => {
  const remote = [there('d', 'directory'), there('d/x.log'), there('d/f'), there('out', 'directory'), there('out/f')]
  const keeps = (path: string) => !path.endsWith('.log') && path !== 'out'
  expect(plan([], remote, { deletes: true, keeps }).remove).toEqual(['d/f'])
})

test('a file of another type is removed first; a directory only with delete', () => {
  expect(plan([here('a', 'directory'), here('a/f')], [there('a')])).toMatchObject({
    makeRoom: ['a'],
    send: ['a', 'a/f'],
  })
  expect(() => plan([here('a')], [there('a', 'directory')])).toThrow(/a is a directory/)
  expect(plan([here('a')], [there('a', 'directory'), there('a/f')], { deletes: true })).toMatchObject({
    makeRoom: ['a'],
    remove: [],
    send: ['a'],
  })
})

test('after a plan with delete, both sides are equal', () => {
  const name = fc.constantFrom('a', 'b', 'c')
  const tree = fc.dictionary(
    fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
    fc.constantFrom<Kind>('file', 'directory', 'symlink'),
    { maxKeys: 8 },
  )
  fc.assert(
    fc.property(tree, tree, (wanted, found) => {
      const local = sound(wanted)
      const remote = sound(found)
      const { send, makeRoom, remove } = planSync(
        [root, ...[...local].map(([path, type]) => here(path, type))],
        new Map([...remote].map(([path, type]) => there(path, type))),
        { ...rules, deletes: true },
      )
      const result = new Map(remote)
      const drop = (gone: string) => {
        for (const path of result.keys()) if (path === gone || path.startsWith(`${gone}/`)) result.delete(path)
      }
      makeRoom.forEach(drop)
      for (const { path, type } of send) result.set(path, type as Kind)
      remove.forEach(drop)
      expect(new Map([...result].sort())).toEqual(new Map([...local].sort()))
    }),
    { numRuns: 500 },
  )
})

/** A tree in which everything is in a directory, each before what is in it. */
function sound(sketch: Readonly<Record<string, Kind>>): Map<string, Kind> {
  const tree = new Map<string, Kind>()
  for (const path of Object.keys(sketch).sort()) {
    const parts = path.split('/')
    for (let depth = 1; depth < parts.length; depth++) tree.set(parts.slice(0, depth).join('/'), 'directory')
    if (tree.get(path) !== 'directory') tree.set(path, sketch[path] ?? 'file')
  }
  return new Map([...tree].sort())
}
