import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { BuilderError } from '../errors.ts'

const packageName = z.string().regex(/^[a-z0-9][a-z0-9+.-]+$/)
const absolutePath = z.string().regex(/^\/[A-Za-z0-9._/-]*$/)
const dpkgPattern = z.string().regex(/^\/[A-Za-z0-9._/*-]+$/)
const accountId = z.int().min(1000).max(59_999)

/** The schema of a template's recipe: the content of its tree, its user and its environment. */
export const recipeSchema = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]*$/),
  /** The version of the recipe. It rises with every change to its result. */
  version: z.int().positive(),
  suite: z.string().regex(/^[a-z]+$/),
  components: z.array(z.string().regex(/^[a-z-]+$/)).min(1),
  packages: z.array(packageName).min(1),
  python: z.strictObject({
    /** The series that uv installs: a version or the beginning of one. */
    series: z.string().regex(/^3(\.\d+){0,2}$/),
    installDir: absolutePath,
    /** The packages that are used only if uv's own interpreters cannot be fetched. */
    fallbackPackages: z.array(packageName),
    fallbackInterpreter: absolutePath,
  }),
  /**
   * The major versions in order of preference. The first one whose newest release is an LTS release
   * is used.
   */
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
  /** The dpkg path patterns that are omitted from the tree, and exceptions to them. */
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
