import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BootstrapPlan, mmdebstrapArguments, mmdebstrapEnv, startBootstrap } from '../../src/base/bootstrap.ts'
import { loadRecipe } from '../../src/base/recipe.ts'
import { lacks } from '../support/machine.ts'

const recipeDir = new URL('../../../../templates/base', import.meta.url).pathname
const missing = lacks('mmdebstrap')
let dir: string

beforeEach(async () => {
  // As in use, on a disk and open to apt's own user.
  dir = await mkdtemp(join(tmpdir(), 'holt-bootstrap-'))
  await chmod(dir, 0o755)
})
afterEach(() => rm(dir, { recursive: true }))

async function plan(pythonSource: 'uv' | 'debian'): Promise<BootstrapPlan> {
  return {
    recipe: await loadRecipe(recipeDir),
    recipeDir,
    toolchain: { dir, pythonSource, pythonPath: '/usr/bin/python3' },
    workDir: dir,
    outDir: dir,
    // Nobody listens on port 1 of loopback.
    sources: ['deb [trusted=yes] http://127.0.0.1:1/debian trixie main'],
    aptOptions: [],
  }
}

test('the distribution provides Python only if uv cannot', async () => {
  const include = (args: readonly string[]) => args.find((arg) => arg.startsWith('--include='))?.split(/[=,]/)
  expect(include(mmdebstrapArguments(await plan('uv')))).not.toContain('python3')
  expect(include(mmdebstrapArguments(await plan('debian')))).toContain('python3')
})

test('no environment variable of the host reaches the commands in the tree', async () => {
  const names = Object.keys(mmdebstrapEnv(await plan('uv'))).filter((name) => !name.startsWith('HOLT_'))
  expect(names.sort()).toEqual(['LC_ALL', 'PATH', 'TMPDIR'])
})

test.skipIf(missing !== '')(`a mirror that does not answer is told, and nothing stays${missing}`, async () => {
  const bootstrap = startBootstrap(await plan('debian'), () => undefined, AbortSignal.timeout(60_000))
  await expect(bootstrap.ready).rejects.toMatchObject({ code: 'source_unreachable' })
  expect(await readdir(dir)).toEqual([])
})

test.skipIf(missing !== '')(`an abort ends it, and nothing stays${missing}`, async () => {
  const controller = new AbortController()
  const bootstrap = startBootstrap(await plan('debian'), () => controller.abort(new Error('enough')), controller.signal)
  await expect(bootstrap.ready).rejects.toThrow('enough')
  await bootstrap.end()
  expect(await readdir(dir)).toEqual([])
})
