import type { Command } from 'commander'
import { parseLocation } from '../arguments/location.ts'
import { connect } from '../connection/connect.ts'
import { copyBetween } from '../copy/copy-between.ts'
import { copyFromRuntime } from '../copy/copy-from-runtime.ts'
import type { CopyOptions } from '../copy/copy-options.ts'
import { copyToRuntime } from '../copy/copy-to-runtime.ts'
import { printJson } from '../output/print.ts'
import { act, UsageError } from '../verb/verb.ts'

const examples = `
RUNTIME:/PATH is inside a runtime, - is the standard stream. The copy is made at exactly DESTINATION. If that ends with a
slash, the copy is made inside it under the source's name. An existing destination is an error unless --overwrite is given.

Examples:
  holt cp notes.txt mine:/workspace/notes.txt
  holt cp -r ./project mine:/workspace/
  holt cp -r mine:/workspace/project/dist ./dist
  holt cp -r mine:/workspace/project mine:/workspace/copy
  holt cp mine:/workspace/out.json - | jq .`

/** Adds `holt cp`, which copies to, from and within runtimes. */
export function addCp(program: Command): void {
  const command = program
    .command('cp')
    .description('copy files to, from and within runtimes')
    .argument('<source>', 'a path here, RUNTIME:/PATH, or -')
    .argument('<destination>', 'a path here, RUNTIME:/PATH, or -')
    .option('-r, --recursive', 'copy a directory with everything in it')
    .option('--overwrite', 'replace the destination; it is never merged')
    .option('-u, --user <user>', "the owner of files made in a runtime (default: the template's user)")
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples)
  act(command, async (sourceText: string, destinationText: string, options: CpOptions) => {
    const copied = await copy(sourceText, destinationText, options)
    if (options.json === true) printJson(copied)
    return 0
  })
}

interface CpOptions extends CopyOptions {
  readonly json?: boolean
}

async function copy(sourceText: string, destinationText: string, options: CpOptions): Promise<unknown> {
  const [source, destination] = [parseLocation(sourceText), parseLocation(destinationText)]
  if (source.type === 'remote' && destination.type === 'remote')
    return copyBetween(connect(), source, destination, options)
  if (source.type === 'remote' && destination.type !== 'remote')
    return copyFromRuntime(connect(), source, destination, options)
  if (source.type !== 'remote' && destination.type === 'remote')
    return copyToRuntime(connect(), source, destination, options)
  throw new UsageError('One of source and destination must be inside a runtime: RUNTIME:/PATH')
}
