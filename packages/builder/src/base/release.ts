import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

/** The schema of `/etc/holt-release` in the tree. */
const releaseSchema = z.strictObject({
  recipe: z.string(),
  version: z.int(),
  debian: z.string(),
  python: z.strictObject({ version: z.string().min(1), source: z.enum(['uv', 'debian']) }),
  node: z.strictObject({ version: z.string().min(1), lts: z.string().min(1) }),
  npm: z.string().min(1),
  uv: z.string().min(1),
})

/** The facts about a finished tree, as measured inside it. */
export interface BaseFacts extends z.infer<typeof releaseSchema> {
  readonly packages: readonly { readonly name: string; readonly version: string }[]
}

/** Reads the files that the last hook wrote to `outDir`. */
export async function readFacts(outDir: string): Promise<BaseFacts> {
  const release = releaseSchema.parse(JSON.parse(await readFile(join(outDir, 'release.json'), 'utf8')))
  const lines = (await readFile(join(outDir, 'packages.tsv'), 'utf8')).trimEnd().split('\n')
  const packages = lines.map((line) => {
    const [name = '', version = ''] = line.split('\t')
    return { name, version }
  })
  return { ...release, packages }
}
