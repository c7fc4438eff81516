import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testSeed } from '@holt/testkit'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { filePatch, isText, type PatchSide } from '../../../src/inside/diff/file-patch.ts'
import { gitPath } from '../../../src/inside/diff/git-path.ts'
import { CompareTime } from '../../../src/inside/diff/text-hunks.ts'

const line = fc.constantFrom(
  '',
  'a',
  'b',
  '--- a/x',
  '+++ b/x',
  '@@ -1,1 +1,1 @@',
  'diff --git a/x b/x',
  '\\ No newline',
  '\r',
  'é',
  '\u2028',
  '\f',
  '# x',
)
const text = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.boolean())
  .map(([lines, ends]) => Buffer.from(lines.join('\n') + (ends ? '\n' : '')))
const file = fc.record({ mode: fc.constantFrom('100644' as const, '100755' as const), content: text })
const link = fc.record({
  mode: fc.constant('120000' as const),
  content: fc.constantFrom('target', 'with space', 'new\nline', 'é').map((target) => Buffer.from(target)),
})
const side = fc.option(fc.oneof({ weight: 4, arbitrary: file }, { weight: 1, arbitrary: link }), { nil: null })
const name = fc
  .oneof(
    fc
      .uint8Array({ minLength: 1, maxLength: 12 })
      .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x61 : byte)))),
    fc.constantFrom('a ', ' a', ' ', 'a b', 'b a', '-- a').map((text) => Buffer.from(text)),
  )
  .filter((bytes) => !['.', '..', '.git'].includes(bytes.toString('latin1').toLowerCase()))

test('git apply turns each side into the other', () => {
  const dir = mkdtempSync(join(tmpdir(), 'holt-patch-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 2 }), side, side, (names, before, after) => {
      const tree = Buffer.from(join(dir, 'tree'))
      rmSync(tree, { recursive: true, force: true })
      mkdirSync(tree)
      const path = Buffer.from(names.map((part) => part.toString('latin1')).join('/'), 'latin1')
      const place = Buffer.concat([tree, Buffer.from('/'), path])
      if (names.length > 1 && before !== null) mkdirSync(place.subarray(0, place.lastIndexOf('/')))
      if (before !== null) put(place, before)
      const patch = filePatch(path, { before, after }, new CompareTime())
      if (!sameSide(before, after)) {
        writeFileSync(join(dir, 'patch'), patch)
        execFileSync('git', ['apply', '--whitespace=nowarn', join(dir, 'patch')], {
          cwd: tree.toString(),
          env: { ...process.env, GIT_CEILING_DIRECTORIES: dir },
          timeout: 20_000,
        })
      }
      expect(look(place)).toEqual(after === null ? null : { ...after, content: after.content.toString('latin1') })
    }),
    { seed: testSeed() | 0, numRuns: 150 },
  )
}, 120_000)

function sameSide(one: PatchSide | null, other: PatchSide | null): boolean {
  if (one === null || other === null) return one === other
  return one.mode === other.mode && one.content.equals(other.content)
}

function put(place: Buffer, { mode, content }: PatchSide): void {
  if (mode === '120000') symlinkSync(content, place)
  else writeFileSync(place, content, { mode: mode === '100755' ? 0o755 : 0o644 })
}

function look(place: Buffer) {
  const info = lstatSync(place, { throwIfNoEntry: false })
  if (info === undefined) return null
  if (info.isSymbolicLink())
    return { mode: '120000', content: readlinkSync(place, { encoding: 'buffer' }).toString('latin1') }
  return { mode: (info.mode & 0o100) === 0 ? '100644' : '100755', content: readFileSync(place).toString('latin1') }
}

test('texts that differ too much are replaced as a whole', () => {
  const lines = (mark: string) => Buffer.from(Array.from({ length: 20_000 }, (_, at) => `${mark}${at}\n`).join(''))
  expect(hunksOf(lines('a'), lines('b'), new CompareTime())).toEqual(['@@ -1,20000 +1,20000 @@'])
})

test('texts are replaced as a whole once the time of their patch is over', () => {
  const [before, after] = [Buffer.from('a\nb\n'.repeat(20)), Buffer.from(`${'a\nb\n'.repeat(20)}c\n`)]
  expect(hunksOf(before, after, new CompareTime())).toEqual(['@@ -38,3 +38,4 @@'])
  const time = new CompareTime(50)
  time.spend((timeoutMs) => {
    for (const end = performance.now() + timeoutMs + 1; performance.now() < end; );
  })
  expect(hunksOf(before, after, time)).toEqual(['@@ -1,40 +1,41 @@'])
})

function hunksOf(before: Buffer, after: Buffer, time: CompareTime): string[] {
  const side = (content: Buffer) => ({ mode: '100644', content }) as const
  const patch = filePatch(Buffer.from('f'), { before: side(before), after: side(after) }, time)
  return patch.split('\n').filter((one) => one.startsWith('@@'))
}

test('paths are quoted as git quotes them', () => {
  expect(gitPath('a/', Buffer.from('plain name'))).toBe('a/plain name')
  expect(gitPath('a/', Buffer.from('ends /name'))).toBe('"a/ends /name"')
  expect(gitPath('a/', Buffer.from('q"\\\n\x01\xff', 'latin1'))).toBe('"a/q\\"\\\\\\n\\001\\377"')
})

test('content with a NUL, or that is not UTF-8, is not text', () => {
  expect([Buffer.from('a\0'), Buffer.from([0xff]), Buffer.from('é')].map(isText)).toEqual([false, false, true])
})
