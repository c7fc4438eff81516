import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { loadRecipe, recipeSchema } from '../../src/base/recipe.ts'

const recipeDir = new URL('../../../../templates/base', import.meta.url).pathname

test('the base recipe is valid and names every hook, in order', async () => {
  const recipe = await loadRecipe(recipeDir)
  const hooks = (await readdir(`${recipeDir}/hooks`)).filter((name) => name !== 'lib.sh').sort()
  expect(recipe.hooks).toEqual(hooks)
})

test('the virtual environment comes first in PATH, and Holt programs before the system', async () => {
  const { env, workdir } = await loadRecipe(recipeDir)
  expect(env.PATH?.split(':')[0]).toBe(`${workdir}/.venv/bin`)
  expect(env.VIRTUAL_ENV).toBe(`${workdir}/.venv`)
})

test.each([
  ['an unknown field', { color: 'red' }],
  ['a package that is an option', { packages: ['--allow-downgrades'] }],
  ['a hook outside its directory', { hooks: ['../10-x.sh'] }],
  ['an environment without PATH', { env: { VIRTUAL_ENV: '/workspace/.venv' } }],
  ['a quote in the environment', { env: { PATH: "/a'b", VIRTUAL_ENV: '/v' } }],
  ['root as the user', { user: { name: 'root', uid: 0, gid: 0, home: '/root', shell: '/bin/sh' } }],
])('refuses %s', async (_what, change) => {
  const recipe = await loadRecipe(recipeDir)
  expect(recipeSchema.safeParse({ ...recipe, ...change }).success).toBe(false)
})
