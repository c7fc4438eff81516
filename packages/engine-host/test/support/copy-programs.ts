import { execFile } from 'node:child_process'
import { copyFile, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../../src/tools/find-program.ts'

const run = promisify(execFile)

/** Copies programs of this machine, with the libraries they need, into a tree's `/bin`. */
export async function copyPrograms(tree: string, ...names: readonly string[]): Promise<void> {
  await mkdir(join(tree, 'bin'), { recursive: true })
  for (const name of names) {
    const program = await findProgram(name)
    if (program === null) throw new Error(`this machine has no ${name}`)
    await copyFile(program, join(tree, 'bin', name))
    const { stdout } = await run('ldd', [program])
    for (const [library] of stdout.matchAll(/\/\S+/g)) {
      await mkdir(join(tree, dirname(library)), { recursive: true })
      await copyFile(library, join(tree, library))
    }
  }
}
