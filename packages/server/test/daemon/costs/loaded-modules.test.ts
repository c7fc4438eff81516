import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { newStateDir } from '../../support/test-store.ts'

const run = promisify(execFile)

/** The modules of a fleet, of its database and of its object store. */
const ofFleets = /\/packages\/server\/src\/fleet\/|\/packages\/object-store\/|\/node_modules\/pg(-[a-z-]+)?\//

/** Starts a service in a process of its own, and returns the modules that it has loaded. */
async function modulesOf(...kind: readonly string[]): Promise<readonly string[]> {
  const program = join(import.meta.dirname, '../../support/list-modules.ts')
  const { stdout } = await run(process.execPath, [program, await newStateDir(), ...kind], {
    maxBuffer: 16 * 1024 * 1024,
    timeout: 50_000,
  })
  return JSON.parse(stdout)
}

test('a machine in no fleet loads no module of a fleet, of PostgreSQL or of an object store', async () => {
  const modules = await modulesOf()
  expect(modules.some((url) => url.endsWith('/packages/server/src/daemon/create-server.ts'))).toBe(true)
  expect(modules.filter((url) => ofFleets.test(url))).toEqual([])
})

test('a host of a fleet loads modules that a machine alone does not', async () => {
  expect((await modulesOf('fleet')).filter((url) => ofFleets.test(url))).not.toEqual([])
})
