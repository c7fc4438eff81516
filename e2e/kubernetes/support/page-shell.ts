import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { blocksOf, type DocBlock } from '../../support/doc-blocks.ts'
import { type Lab, run } from './lab.ts'

/** The time of one block, in milliseconds. */
const blockMs = 560_000

/** A shell in which the blocks of a page run, in order. */
export interface PageShell {
  /** The directory in which the commands run. */
  readonly dir: string
  /** The blocks that were not run yet. */
  readonly left: readonly DocBlock[]
  /** Takes the next block of the page, which has to contain a word. */
  take(word: string): DocBlock
  /** Runs the next block of the page, as it is printed. Returns its output; fails if it does. */
  run(word: string, variables?: Readonly<Record<string, string>>): Promise<string>
}

/** The things that a shell needs besides the page. */
interface ShellOptions {
  readonly lab: Lab
  /** The root of the clone, in which a reader of the page is. */
  readonly repository: string
  /** The values that `helm install` and `helm upgrade` get in addition. */
  readonly values: object
  /** The variables of the page. */
  readonly variables: Readonly<Record<string, string>>
}

/**
 * Opens a shell for the blocks of a page that name a test file as theirs. `helm` is a script there
 * which adds the values of the lab.
 */
export async function openPageShell(
  { name, text, file }: { readonly name: string; readonly text: string; readonly file: string },
  { lab, repository, values, variables }: ShellOptions,
): Promise<PageShell> {
  const left = blocksOf(name, text).filter(({ notRun }) => notRun?.includes(file))
  const dir = join(lab.env.KUBE_LAB_DIR ?? '', 'page')
  const programs = lab.env.KUBEBUILDER_ASSETS ?? ''
  await mkdir(join(dir, 'bin'), { recursive: true })
  await symlink(join(repository, 'deploy'), join(dir, 'deploy'))
  const valuesFile = join(dir, 'lab-values.json')
  await writeFile(valuesFile, JSON.stringify(values))
  await writeFile(
    join(dir, 'bin/helm'),
    `#!/bin/sh
case " $* " in
*' install '* | *' upgrade '*) exec ${programs}/helm "$@" --values ${valuesFile} ;;
*) exec ${programs}/helm "$@" ;;
esac
`,
  )
  await chmod(join(dir, 'bin/helm'), 0o755)
  const PATH = `${join(dir, 'bin')}:${programs}:${process.env.PATH}`
  const take = (word: string): DocBlock => {
    const block = left.shift()
    if (block?.commands.includes(word) !== true)
      throw new Error(`the next block of the page has no ${word}: ${block?.place}\n${block?.commands}`)
    return block
  }
  return {
    dir,
    left,
    take,
    run: async (word, more = {}) => {
      const { place, commands } = take(word)
      const env = { ...lab.env, ...variables, ...more, PATH }
      const script = `set -eo pipefail; cd ${dir}\n${commands}`
      const { code, out } = await run('bash', ['-c', script], { env, timeoutMs: blockMs })
      if (code !== 0) throw new Error(`${place} does not run as it is written:\n${commands}\n${out}`)
      return out
    },
  }
}
