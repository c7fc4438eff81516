import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { IdClaims } from '../../src/runtimes/id-claims.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

const recordOf = (installation: string, id: string) => `/state/${installation}/runtimes/${id}/runtime.json`

async function twoInstallations() {
  const dir = await temporaryDirectory()
  const place = join(dir.path, 'ids')
  const claimsOf = (installation: string) => new IdClaims(`/state/${installation}/runtimes`, place)
  return { place, one: claimsOf('one'), two: claimsOf('two'), [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() }
}

test('gives a range to one runtime of the host, until it is released', async () => {
  await using host = await twoInstallations()
  const { one, two } = host
  const claims = Array.from({ length: 8 }, (_, id) => (id % 2 === 0 ? one : two).claim(7, recordOf('x', String(id))))
  expect((await Promise.all(claims)).filter((isGiven) => isGiven)).toHaveLength(1)
  expect(await one.claim(8, recordOf('one', 'a'))).toBe(true)
  expect(await one.claim(8, recordOf('one', 'a'))).toBe(true)
  expect(await two.claim(8, recordOf('two', 'b'))).toBe(false)
  await two.release(8, recordOf('two', 'b'))
  expect(await two.claim(8, recordOf('two', 'b'))).toBe(false)
  await one.release(8, recordOf('one', 'a'))
  expect(await two.claim(8, recordOf('two', 'b'))).toBe(true)
})

test('releases ranges of an earlier engine of the same installation only', async () => {
  await using host = await twoInstallations()
  const { one, two, place } = host
  await one.releaseOthers(new Set())
  for (const [firstId, id] of ['kept', 'gone'].entries()) await one.claim(firstId, recordOf('one', id))
  await two.claim(5, recordOf('two', 'gone'))
  await one.releaseOthers(new Set([recordOf('one', 'kept')]))
  expect((await readdir(place)).sort()).toEqual(['0', '5'])
})

test('keeps the range of a runtime with a record, even if it is unreadable', async () => {
  await using host = await twoInstallations()
  const runtimesDir = join(host.place, '..', 'runtimes')
  const claims = new IdClaims(runtimesDir, host.place)
  const record = join(runtimesDir, 'unread', 'runtime.json')
  await mkdir(dirname(record), { recursive: true })
  await writeFile(record, 'not JSON')
  await claims.claim(7, record)
  await claims.releaseOthers(new Set())
  expect(await readdir(host.place)).toEqual(['7'])
  await rm(record)
  await claims.releaseOthers(new Set())
  expect(await readdir(host.place)).toEqual([])
})

test('allows runtimes if claims cannot be written', async () => {
  await using host = await twoInstallations()
  await writeFile(host.place, 'a file')
  expect(await host.one.claim(7, recordOf('one', 'a'))).toBe(true)
})
