import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type Entry, writeTar } from '@holt/tar'
import { expect, onTestFinished, test } from 'vitest'

const common = { mode: 0o644, uid: 70_000, gid: 3_000_000, mtimeSecs: 1_700_000_000, mtimeNanos: 123_456_789 }
const longName = `deep/${'n'.repeat(200)}`

function* body(text: string): Generator<Uint8Array> {
  yield Buffer.from(text)
}

async function* entries(): AsyncGenerator<Entry> {
  yield { ...common, type: 'directory', path: 'deep', mode: 0o1755 }
  yield {
    ...common,
    type: 'file',
    path: longName,
    size: 5,
    body: (async function* () {
      yield* body('hello')
    })(),
    xattrs: new Map([['user.note', Buffer.from('a=b\nc')]]),
  }
  yield { ...common, type: 'hardlink', path: 'deep/link', linkTarget: longName }
  yield { ...common, type: 'symlink', path: 'deep/sym', linkTarget: `/${'t'.repeat(150)}` }
  yield { ...common, type: 'fifo', path: 'deep/fifo' }
  yield { ...common, type: 'file', path: Buffer.from('ff2e', 'hex'), size: 0, mtimeSecs: -2, mtimeNanos: 5e8 }
}

test('tar reads a written archive', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'holt-tar-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  writeFileSync(join(dir, 'a.tar'), await buffer(writeTar(entries())))
  execFileSync('tar', [
    '--warning=no-timestamp',
    '-xf',
    join(dir, 'a.tar'),
    '-C',
    dir,
    '--numeric-owner',
    '--xattrs',
    '--xattrs-include=*',
  ])
  const file = statSync(join(dir, longName), { bigint: true })
  expect([file.size, file.uid, file.gid, file.nlink, file.mtimeNs]).toEqual([
    5n,
    70_000n,
    3_000_000n,
    2n,
    1_700_000_000_123_456_789n,
  ])
  expect(readFileSync(join(dir, 'deep/link'), 'utf8')).toBe('hello')
  expect(statSync(join(dir, 'deep')).mode & 0o7777).toBe(0o1755)
  expect(statSync(join(dir, 'deep/fifo')).isFIFO()).toBe(true)
  expect(
    execFileSync('readlink', [join(dir, 'deep/sym')])
      .toString()
      .trim(),
  ).toBe(`/${'t'.repeat(150)}`)
  expect(statSync(Buffer.concat([Buffer.from(`${dir}/`), Buffer.from('ff2e', 'hex')]), { bigint: true }).mtimeNs).toBe(
    -1_500_000_000n,
  )
})
