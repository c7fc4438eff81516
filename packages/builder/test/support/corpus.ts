import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'

const root = new URL('../corpus', import.meta.url).pathname

const settingsSchema = z.strictObject({
  buildArgs: z.record(z.string(), z.string()).default({}),
  target: z.string().nullable().default(null),
  secrets: z.record(z.string(), z.string()).default({}),
  differs: z.record(z.string(), z.string()).default({}),
})

/** One Dockerfile of the corpus. */
export interface CorpusCase extends z.infer<typeof settingsSchema> {
  readonly name: string
  /** With the registry's address in it. */
  readonly dockerfile: (registry: string) => string
  /** The input of `buildah build`: the same, or its counterpart in buildah's language. */
  readonly oracle: (registry: string) => string
  /** Makes the context in a directory that is not there yet. */
  readonly prepare: (directory: string) => void
}

/** All of the corpus, by name. */
export function corpus(): readonly CorpusCase[] {
  return globSync('*/Dockerfile', { cwd: root })
    .map((file) => readCase(dirname(file)))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

function readCase(name: string): CorpusCase {
  const directory = join(root, name)
  const optional = (file: string) => (existsSync(join(directory, file)) ? join(directory, file) : null)
  const reader = (file: string) => {
    const text = readFileSync(file, 'utf8')
    return (registry: string) => text.replaceAll('{{registry}}', registry)
  }
  const settings = optional('args.json')
  const dockerfile = join(directory, 'Dockerfile')
  return {
    name: basename(name),
    ...settingsSchema.parse(settings === null ? {} : JSON.parse(readFileSync(settings, 'utf8'))),
    dockerfile: reader(dockerfile),
    oracle: reader(optional('oracle.Dockerfile') ?? dockerfile),
    prepare: (into) => {
      const context = optional('context')
      const script = optional('prepare.sh')
      if (context === null) mkdirSync(into)
      else cpSync(context, into, { recursive: true, verbatimSymlinks: true })
      if (script !== null) execFileSync('bash', ['-eu', script], { cwd: into, stdio: ['ignore', 'ignore', 'inherit'] })
    },
  }
}
