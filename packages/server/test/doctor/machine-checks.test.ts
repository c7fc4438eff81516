import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { lineOf, mustFix, ok, warn } from '../../src/doctor/check.ts'
import { checkGuest, checkNode, checkPort, checkRoot } from '../../src/doctor/machine-checks.ts'

test.each([
  ['24.1.0', 'ok'],
  ['22.18.0', 'ok'],
  ['22.17.9', 'fix'],
  ['20.20.0', 'fix'],
])('node %s is %s', (current, status) => {
  expect(checkNode(current).status).toBe(status)
})

test('root is needed', () => {
  expect([checkRoot(0).status, checkRoot(1000).status, checkRoot(undefined).status]).toEqual(['ok', 'fix', 'fix'])
})

test('the guest is needed, for this processor', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-check-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const guest = join(dir, 'holt-guest')
  const status = async () => (await checkGuest({ guest }, 'x64')).status
  expect(await status()).toBe('fix')
  for (const [bytes, expected] of [
    ['#!/bin/sh\nexit 0 # no ELF\n', 'fix'],
    [elfFor(183), 'fix'],
    [elfFor(62), 'ok'],
  ] as const) {
    await writeFile(guest, bytes)
    await chmod(guest, 0o755)
    expect(await status()).toBe(expected)
  }
})

test('the version of the guest is read out of its file', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-check-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const guest = join(dir, 'holt-guest')
  const said = async (stamp: string) => {
    await writeFile(guest, Buffer.concat([elfFor(62), Buffer.from(stamp)]), { mode: 0o755 })
    return (await checkGuest({ guest }, 'x64')).message
  }
  expect(await said('more\0holt-guest version 1.2.3-rc.1\nmore')).toBe(`1.2.3-rc.1, ${guest}`)
  expect(await said('more')).toContain('does not tell')
})

/** The beginning of an ELF file for a processor. */
function elfFor(machine: number): Buffer {
  const head = Buffer.alloc(64)
  head.write('\u007fELF', 'latin1')
  head.writeUInt16LE(machine, 18)
  return head
}

test('a port that is taken names another', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const config = parseConfig({ HOLT_PORT: String(port) })
  expect(await checkPort(config)).toMatchObject({ status: 'fix', fix: `export HOLT_PORT=${port + 1}` })
  expect((await checkPort({ ...config, port: 0 })).status).toBe('ok')
})

test('only what must be fixed is a FIX line', () => {
  expect(lineOf(mustFix('disk', 'full', 'rm it'))).toBe('FIX: rm it    # disk: full')
  expect(lineOf(ok('disk', 'fine'))).toBe('ok   disk: fine')
  expect(lineOf(warn('disk', 'small', 'grow it'))).toBe('warn disk: small (grow it)')
})
