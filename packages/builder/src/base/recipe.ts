import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { BuilderError } from '../errors.ts'

const packageName = z.string().regex(/^[a-z0-9][a-z0-9+.-]+$/)
const absolutePath = z.string().regex(/^\/[A-Za-z0-9._/-]*$/)
const dpkgPattern = z.string().regex(/^\/[A-Za-z0-9._/*-]+$/)
const accountId = z.int().min(1000).max(59_999)

/** A template's recipe: what goes into its tree, who works in it and with which environment. */
export const recipeSchema = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]*$/),
  /** Rises with every change to what the recipe makes. */
  version: z.int().positive(),
  suite: z.string().regex(/^[a-z]+$/),
  components: z.array(z.string().regex(/^[a-z-]+$/)).min(1),
  packages: z.array(packageName).min(1),
  python: z.strictObject({
    /** What uv is asked for: a version or the beginning of one. */
    series: z.string().regex(/^3(\.\d+){0,2}$/),
    installDir: absolutePath,
    /** Used only where uv's own interpreters cannot be fetched. */
    fallbackPackages: z.array(packageName),
    fallbackInterpreter: absolutePath,
  }),
  /** Majors in order of preference; the first whose newest release calls itself LTS is taken. */
  node: z.strictObject({ ltsCandidates: z.array(z.int().positive()).min(1), npm: z.int().positive() }),
  user: z.strictObject({
    name: z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/),
    uid: accountId,
    gid: accountId,
    home: absolutePath,
    shell: absolutePath,
  }),
  workdir: absolutePath,
  /** The environment of every command in a runtime of the template. */
  env: z
    .record(z.string().regex(/^[A-Z_][A-Z0-9_]*$/), z.string().regex(/^[\x20-\x26\x28-\x7e]*$/))
    .refine((env) => 'PATH' in env && 'VIRTUAL_ENV' in env, 'must name PATH and VIRTUAL_ENV'),
  /** dpkg path patterns that are left out of the tree, and exceptions to them. */
  exclude: z.array(dpkgPattern),
  keep: z.array(dpkgPattern),
  hooks: z.array(z.string().regex(/^[0-9]{2}-[a-z-]+\.sh$/)),
})

/** A validated recipe. */
export type Recipe = z.infer<typeof recipeSchema>

/** Reads and validates the recipe of a template directory. */
export async function loadRecipe(recipeDir: string): Promise<Recipe> {
  const path = join(recipeDir, 'recipe.json')
  const parsed = recipeSchema.safeParse(JSON.parse(await readFile(path, 'utf8')))
  if (!parsed.success)
    throw new BuilderError('recipe_invalid', `recipe.json: ${z.prettifyError(parsed.error)}`, { detail: path })
  return parsed.data
}
