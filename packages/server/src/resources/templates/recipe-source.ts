import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BaseFacts, type BuildProgress, flattenImage, loadRecipe, makeBaseTree } from '@holt/builder'
import { writeTar } from '@holt/tar'
import type { BaseSource } from './base-source.ts'

const distribution = 'distribution packages'

/**
 * Returns the source of base templates from distribution packages, by the recipe in a directory.
 * `npm` is the installation's own client, or null for the machine's.
 */
export function recipeSource(recipeDir: string, npm: readonly [string, ...string[]] | null): BaseSource {
  return {
    name: distribution,
    digest: () => digestOfTree(recipeDir),
    make: async ({ onProgress, signal }) => {
      const tell = ({ message, done, total }: BuildProgress) => onProgress({ phase: message, done, total })
      const tree = await makeBaseTree({ recipeDir, npm: npm ?? undefined, onProgress: tell, signal })
      const { env, user, workdir } = tree.recipe
      return {
        tar: writeTar(tree.entries),
        origin: distribution,
        env,
        user: user.name,
        workdir,
        facts: factsOf(tree.facts),
        [Symbol.asyncDispose]: () => tree[Symbol.asyncDispose](),
      }
    },
  }
}

/**
 * Returns the source of base templates from a container image. The image's PATH is not used. Every
 * base template has the recipe's PATH, which begins with the environment in the working directory.
 */
export function imageSource(reference: string, recipeDir: string): BaseSource {
  return {
    name: reference,
    digest: async () => createHash('sha256').update(`image ${reference}`).digest('hex'),
    make: async ({ onProgress, signal }) => {
      const { PATH = '' } = (await loadRecipe(recipeDir)).env
      onProgress({ phase: 'fetching the image', done: 0, total: 1 })
      const onLayer = (done: number, total: number) =>
        onProgress({ phase: 'reading the image', done: total + done, total: 2 * total })
      const tree = await flattenImage({ reference, onLayer, signal })
      const { env, user, workdir } = tree.settings
      return {
        tar: writeTar(tree.entries),
        origin: reference.includes('@') ? reference : `${reference}@${tree.digest}`,
        env: { PATH, ...env },
        user,
        workdir,
        facts: { image: reference, digest: tree.digest },
        [Symbol.asyncDispose]: () => tree[Symbol.asyncDispose](),
      }
    },
  }
}

function factsOf({ debian, python, node, npm, uv, recipe, version, packages }: BaseFacts): Record<string, string> {
  return {
    recipe: `${recipe} ${version}`,
    debian,
    python: python.version,
    python_source: python.source,
    node: node.version,
    node_lts: node.lts,
    npm,
    uv,
    packages: String(packages.length),
  }
}

/** Returns a digest over the names and contents of every file below a directory. */
async function digestOfTree(dir: string): Promise<string> {
  const hash = createHash('sha256')
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  for (const path of paths.sort()) {
    const content = await readFile(path)
    hash.update(`${path.slice(dir.length)}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}
