import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadRecipe } from '../../src/base/recipe.ts'
import { fetchToolchain, isLts } from '../../src/base/toolchain.ts'

/**
 * Runs fetchToolchain with shell scripts in the place of npm, pip and the npm that an installation
 * brings.
 */
async function fetchWith(
  scripts: { readonly npm: string; readonly python3: string; readonly brought?: string },
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly fetch: Promise<unknown>; readonly dir: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-toolchain-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(join(dir, name), `#!/bin/sh\ncd ${dir}\n${script}\n`)
    await chmod(join(dir, name), 0o755)
  }
  const recipe = await loadRecipe(new URL('../../../../templates/base', import.meta.url).pathname)
  const fetch = fetchToolchain({
    recipe,
    dir,
    npm: scripts.brought === undefined ? undefined : ([join(dir, 'brought'), 'first'] as const),
    env: { PATH: `${dir}:/usr/bin:/bin`, ...env },
    signal: AbortSignal.timeout(20_000),
    onFetched: () => {},
  })
  return { fetch, dir }
}

/** Returns whether npm and pip keep compiled code, and the arguments that they are given. */
async function argumentsOfFetch(brought: boolean): Promise<{ npm: string; pip: string }> {
  const keep = (name: string) => `echo $NODE_DISABLE_COMPILE_CACHE "$@" > ${name}.args; exit 1`
  const more = brought ? { brought: keep('brought') } : {}
  const { fetch, dir } = await fetchWith({ npm: keep('npm'), python3: keep('python3'), ...more })
  await expect(fetch).rejects.toThrow('could not fetch')
  const args = (name: string) => readFile(join(dir, `${name}.args`), 'utf8')
  return { npm: await args(brought ? 'brought' : 'npm'), pip: await args('python3') }
}

test.each([
  ['npm error code SELF_SIGNED_CERT_IN_CHAIN', /^npm could not fetch .*npm registry is not trusted here.*update-ca-c/],
  ['npm error code ENOTFOUND', /^npm could not fetch .*: check that the npm registry can be reached\.$/],
])('reports why npm fails: %s', async (line, message) => {
  const { fetch } = await fetchWith({ npm: `echo '${line}' >&2; exit 1`, python3: 'exit 1' })
  await expect(fetch).rejects.toThrow(message)
})

test.runIf(existsSync('/etc/ssl/certs/ca-certificates.crt')).each([
  [{}, '/etc/ssl/certs/ca-certificates.crt'],
  [{ NODE_EXTRA_CA_CERTS: '/mine.pem' }, '/mine.pem'],
])('npm trusts what the host trusts, unless the environment says otherwise: %j', async (env, file) => {
  const { fetch, dir } = await fetchWith({ npm: 'echo $NODE_EXTRA_CA_CERTS > trust; exit 1', python3: 'exit 1' }, env)
  await expect(fetch).rejects.toThrow('npm could not fetch')
  expect(await readFile(join(dir, 'trust'), 'utf8')).toBe(`${file}\n`)
})

test('uses the npm of an installation, and leaves nothing in the caches of the user', async () => {
  const { npm, pip } = await argumentsOfFetch(true)
  expect(npm).toMatch(/^1 first install .*--cache=/)
  expect(pip).toContain('--no-cache-dir')
})

test('uses the npm of the machine otherwise, with its cache', async () => {
  const { npm, pip } = await argumentsOfFetch(false)
  expect(npm).toMatch(/^install /)
  expect(`${npm}${pip}`).not.toContain('cache')
})

test.each([
  ['an LTS release', '#define NODE_VERSION_IS_LTS 1\n#define NODE_VERSION_LTS_CODENAME "Krypton"\n', true],
  ['a release that is not LTS yet', '#define NODE_VERSION_IS_LTS 0\n#define NODE_VERSION_LTS_CODENAME ""\n', false],
  ['a header that does not say', '#define NODE_MAJOR_VERSION 26\n', false],
])('reads from the header of a Node program that it is %s', (_, lines, lts) => {
  expect(isLts(`#ifndef SRC_NODE_VERSION_H_\n${lines}#endif\n`)).toBe(lts)
})
