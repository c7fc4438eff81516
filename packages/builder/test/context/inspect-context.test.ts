import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type Entry, writeTar } from '@holt/tar'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contextLimits } from '../../src/context/context-tree.ts'
import { inspectContext } from '../../src/context/inspect-context.ts'
import { BuilderError } from '../../src/errors.ts'
import { contextOfBytes, member, tarOf } from '../support/context-archive.ts'

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const device: Entry = { ...member.file('tty'), type: 'char', rdev: { major: 5, minor: 0 } } as Entry
const fifo: Entry = { ...member.file('pipe'), type: 'fifo' } as Entry

test.each([1, 7, 1 << 20])('counts and digests an upload, compressed or not, in pieces of %i', async (size) => {
  const bytes = await tarOf([member.directory('.'), member.file('a', 'x'.repeat(5000)), member.symlink('b', 'a')])
  for (const sent of [bytes, gzipSync(bytes)]) {
    const sha256 = createHash('sha256').update(sent).digest('hex')
    expect(await inspectContext(pieces(sent, size))).toEqual({ sha256, sizeBytes: sent.length, entries: 3 })
  }
})

test.each<readonly [string, Entry[], RegExp]>([
  ['an absolute name', [member.file('/etc/passwd')], /absolute/],
  ['a name that leads out', [member.file('a/../../b')], /leads out/],
  ['a device', [device], /device/],
  ['a named pipe', [fifo], /named pipe/],
  ['a hard link to nothing', [member.hardlink('a', 'b')], /hard link/],
  ['a hard link out', [member.hardlink('a', '../../etc/passwd')], /leads out/],
  ['a hard link to a directory', [member.directory('d'), member.hardlink('a', 'd')], /hard link/],
  ['a file below a link', [member.symlink('l', '/etc'), member.file('l/passwd')], /not a directory/],
  ['a file below a file', [member.file('f'), member.file('f/x')], /not a directory/],
  ['a directory that becomes a link', [member.file('d/x'), member.symlink('d', '/etc')], /twice/],
  ['a file as the root', [member.file('.')], /must be a directory/],
  ['a name that is too long', [member.file('n'.repeat(256))], /too long/],
  ['a path that is too long', [member.file('n/'.repeat(2100))], /too long/],
  ['a name that is no text', [{ ...member.file('x'), path: Buffer.from('ff2e', 'hex') }], /UTF-8/],
])('refuses %s', async (_, members, reason) => {
  const bytes = await tarOf(members)
  const refusal = inspectContext(pieces(bytes, 4096))
  await expect(refusal).rejects.toThrow(reason)
  await expect(refusal).rejects.toMatchObject({ code: 'context_invalid' })
  await expect(contextOfBytes(bytes)).rejects.toThrow(reason)
})

describe('refuses an invalid archive', () => {
  const text = Buffer.from('no tar'.repeat(200))
  test.each<readonly [string, (tar: Buffer) => Buffer]>([
    ['text', () => text],
    ['compressed text', () => gzipSync(text)],
    ['one that ends early', (tar) => tar.subarray(0, 1000)],
    ['compression that ends early', (tar) => gzipSync(tar).subarray(0, 40)],
    ['damaged compression', (tar) => Buffer.concat([gzipSync(tar).subarray(0, 20), Buffer.alloc(50, 0xff)])],
  ])('%s', async (_, damage) => {
    const bytes = damage(await tarOf([member.file('a', 'x'.repeat(2000))]))
    await expect(inspectContext(pieces(bytes, 333))).rejects.toMatchObject({ code: 'context_invalid' })
  })
})

test('a file that declares more than the size limit is refused before its content', async () => {
  let read = 0
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      read += 1 << 20
      yield Buffer.alloc(1 << 20)
    }
  }
  const huge: Entry = { ...member.file('huge'), type: 'file', size: 2 ** 44, body: endless() } as Entry
  const tar = writeTar(
    (async function* () {
      yield huge
    })(),
  )
  await expect(inspectContext(tar)).rejects.toThrow(/GiB when unpacked/)
  expect(read).toBeLessThan(16 << 20)
})

test('targets of links are kept in memory, and count like names', async () => {
  let sent = 0
  const links = writeTar(
    (async function* () {
      for (; sent < 20_000; sent += 1) yield member.symlink(`link${sent}`, 'x'.repeat(4000))
    })(),
  )
  await expect(inspectContext(links)).rejects.toThrow(/names and targets .* too long together/)
  expect(sent * 4000).toBeLessThan(contextLimits.nameBytes + (4 << 20))
})

test('an error of the stream is not reported as a damaged archive', async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield (await tarOf([member.file('a', 'x'.repeat(2000))])).subarray(0, 700)
    throw new Error('the client went away')
  }
  await expect(inspectContext(broken())).rejects.toThrow('the client went away')
})

test('any upload is a context or an error with the reason', async () => {
  const sound = await tarOf([
    member.directory('d'),
    member.file('d/f', 'content'),
    member.symlink('l', 'd/f'),
    member.hardlink('h', 'd/f'),
  ])
  const change = fc.record({ at: fc.nat(sound.length - 1), byte: fc.nat(255), checksum: fc.boolean() })
  let [good, bad] = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 4 }), fc.boolean(), async (changes, zip) => {
      const bytes = Buffer.from(sound)
      for (const { at, byte, checksum } of changes) {
        bytes[at] = byte
        if (checksum) repairChecksum(bytes.subarray(at - (at % 512), at - (at % 512) + 512))
      }
      try {
        await inspectContext(pieces(zip ? gzipSync(bytes) : bytes, 4096))
        good += 1
      } catch (error) {
        if (!(error instanceof BuilderError)) throw error
        bad += 1
      }
    }),
    { numRuns: 400 },
  )
  expect(Math.min(good, bad)).toBeGreaterThan(20)
})

function repairChecksum(block: Buffer): void {
  block.write('        ', 148)
  const sum = block.reduce((total, byte) => total + byte)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
}
