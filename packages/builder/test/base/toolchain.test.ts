import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadRecipe } from '../../src/base/recipe.ts'
import { fetchToolchain, isLts } from '../../src/base/toolchain.ts'

/** Runs fetchToolchain with programs that fail, and returns the arguments that they were given. */
async function argumentsOfFetch(brought: boolean): Promise<{ npm: string; pip: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-toolchain-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  for (const name of ['npm', 'python3', 'brought']) {
    await writeFile(join(dir, name), `#!/bin/sh\necho "$@" > ${join(dir, `${name}.args`)}\nexit 1\n`)
    await chmod(join(dir, name), 0o755)
  }
  const recipe = await loadRecipe(new URL('../../../../templates/base', import.meta.url).pathname)
  const npm = brought ? ([join(dir, 'brought'), 'first'] as const) : undefined
  const fetch = fetchToolchain({
    recipe,
    dir,
    npm,
    env: { PATH: `${dir}:/usr/bin:/bin` },
    signal: AbortSignal.timeout(20_000),
    onFetched: () => {},
  })
  await expect(fetch).rejects.toThrow('could not fetch')
  const args = (name: string) => readFile(join(dir, `${name}.args`), 'utf8')
  return { npm: await args(brought ? 'brought' : 'npm'), pip: await args('python3') }
}

test("takes the npm of an installation, and leaves nothing in the user's caches", async () => {
  const { npm, pip } = await argumentsOfFetch(true)
  expect(npm).toMatch(/^first install .*--cache=/)
  expect(pip).toContain('--no-cache-dir')
})

test("takes the machine's npm otherwise, with its cache", async () => {
  const { npm, pip } = await argumentsOfFetch(false)
  expect(npm).toMatch(/^install /)
  expect(`${npm}${pip}`).not.toContain('cache')
})

test.each([
  ['an LTS release', '#define NODE_VERSION_IS_LTS 1\n#define NODE_VERSION_LTS_CODENAME "Krypton"\n', true],
  ['one that is none yet', '#define NODE_VERSION_IS_LTS 0\n#define NODE_VERSION_LTS_CODENAME ""\n', false],
  ['a header that does not say', '#define NODE_MAJOR_VERSION 26\n', false],
])('tells by the header of a Node whether it is %s', (_, lines, lts) => {
  expect(isLts(`#ifndef SRC_NODE_VERSION_H_\n${lines}#endif\n`)).toBe(lts)
})
