import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const root = new URL('../../../../', import.meta.url)

/** Prints the modules of this repository that a program loads. */
const program = (entry: string) => `
  import { registerHooks } from 'node:module'
  const loaded = []
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
  await import(${JSON.stringify(new URL(entry, root).href)})
  console.log(JSON.stringify(loaded))
`

function modulesOf(entry: string): readonly string[] {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '--no-warnings', '--eval', program(entry)],
    { encoding: 'utf8', timeout: 50_000 },
  )
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

test('a service that is in no fleet does not load the code of a fleet', () => {
  const isOfFleet = (url: string) => url.includes('/packages/server/src/fleet/')
  const loaded = modulesOf('packages/server/src/index.ts')
  expect(loaded.filter((url) => url.includes('/daemon/join-fleet.ts'))).toHaveLength(1)
  expect(loaded.filter(isOfFleet)).toEqual([])
  expect(modulesOf('packages/server/src/fleet/forwarding/open-peers.ts').filter(isOfFleet).length).toBeGreaterThan(5)
})
