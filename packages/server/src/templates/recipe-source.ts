import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BaseFacts, flattenImage, makeBaseTree } from '@holt/builder'
import type { BaseSource } from './base-source.ts'
import { writeTar } from './write-tar.ts'

/** Variables of an image that describe its own login and not what a runtime's should be. */
const skippedVariables: ReadonlySet<string> = new Set(['PATH', 'HOME', 'HOSTNAME', 'SHELL', 'USER', 'LOGNAME'])

const standardPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The base templates from distribution packages, as a recipe directory says. */
export function recipeSource(recipeDir: string): BaseSource {
  return {
    name: 'distribution packages',
    digest: () => digestOfTree(recipeDir),
    make: async ({ onProgress, signal }) => {
      const tree = await makeBaseTree({ recipeDir, onProgress, signal })
      const { env, user, workdir } = tree.recipe
      return {
        tar: writeTar(tree.entries),
        env,
        user: user.name,
        workdir,
        facts: factsOf(tree.facts),
        [Symbol.asyncDispose]: () => tree[Symbol.asyncDispose](),
      }
    },
  }
}

/** The base templates from a container image. */
export function imageSource(reference: string): BaseSource {
  return {
    name: reference,
    digest: async () => createHash('sha256').update(`image ${reference}`).digest('hex'),
    make: async ({ onProgress, signal }) => {
      onProgress({ phase: `fetching ${reference}`, done: 0, total: 1 })
      const tree = await flattenImage({ reference, workDir: '/var/tmp', signal })
      return {
        tar: writeTar(tree.entries),
        env: { PATH: standardPath, ...environmentOf(tree.config.env) },
        user: tree.config.user === '' ? 'root' : tree.config.user,
        workdir: tree.config.workdir === '' ? '/' : tree.config.workdir,
        facts: { image: reference, manifest: tree.digest },
        [Symbol.asyncDispose]: () => tree[Symbol.asyncDispose](),
      }
    },
  }
}

function environmentOf(lines: readonly string[]): Record<string, string> {
  const pairs = lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const)
  return Object.fromEntries(
    pairs.filter(
      ([name, value]) => /^[A-Za-z_]\w*$/.test(name) && !value.includes('\0') && !skippedVariables.has(name),
    ),
  )
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

/** A digest over the names and contents of every file below a directory. */
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
