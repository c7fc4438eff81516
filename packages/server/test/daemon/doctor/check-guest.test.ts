import { chmod, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { builtGuest } from '@holt/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { checkGuest, requireGuest } from '../../../src/daemon/doctor/check-guest.ts'
import { version } from '../../../src/foundation/config/version.ts'

const stamp = `more\0holt-guest version ${version}\nmore`

/** Returns the path of a guest in a new directory; no file is there yet. */
async function guestPath(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-check-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return join(dir, 'holt-guest')
}

async function putGuest(path: string, bytes: Buffer | string): Promise<void> {
  await writeFile(path, bytes)
  await chmod(path, 0o755)
}

test('the guest must exist, for the architecture of this processor', async () => {
  const guest = await guestPath()
  const status = async () => (await checkGuest({ guest }, 'x64')).status
  expect(await status()).toBe('fix')
  for (const [bytes, expected] of [
    ['#!/bin/sh\nexit 0 # no ELF\n', 'fix'],
    [elfFor(183, stamp), 'fix'],
    [elfFor(62, stamp), 'ok'],
  ] as const) {
    await putGuest(guest, bytes)
    expect(await status()).toBe(expected)
  }
})

test.each([
  ['more\0holt-guest version 1.2.3-rc.1\nmore', 'version 1.2.3-rc.1'],
  ['more', 'no version'],
])('a guest of another version is refused', async (words, found) => {
  const guest = await guestPath()
  await putGuest(guest, elfFor(62, words))
  const message = `${guest} has ${found}; this is holt ${version}`
  expect(await checkGuest({ guest }, 'x64')).toMatchObject({ status: 'fix', fix: 'unset HOLT_GUEST', message })
})

test('a guest that is older than its source is refused', async () => {
  const guest = await guestPath()
  await putGuest(guest, elfFor(62, stamp))
  const source = join(dirname(guest), 'internal/contain/contain.go')
  await mkdir(dirname(source), { recursive: true })
  for (const path of [source, join(dirname(guest), 'go.mod'), join(dirname(guest), 'README.md')])
    await writeFile(path, '')
  const builtAt = new Date('2026-01-01T00:00:01Z')
  const set = (path: string, seconds: number) => utimes(path, builtAt, new Date(builtAt.getTime() + seconds * 1000))
  await set(guest, 0)
  await set(join(dirname(guest), 'README.md'), 10)
  for (const [seconds, message] of [
    [0, `${version}, ${guest}`],
    [1, `${guest} is older than its sources`],
  ] as const) {
    await set(join(dirname(guest), 'go.mod'), 0)
    await set(source, seconds)
    expect((await checkGuest({ guest }, 'x64')).message).toBe(message)
  }
})

test('the built guest has the version of the service', async () => {
  await requireGuest({ guest: await builtGuest() })
})

/** Returns the beginning of an ELF file for a processor, and text after it. */
function elfFor(machine: number, words: string): Buffer {
  const head = Buffer.alloc(64)
  head.write('\u007fELF', 'latin1')
  head.writeUInt16LE(machine, 18)
  return Buffer.concat([head, Buffer.from(words)])
}
