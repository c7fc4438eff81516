import type { Command } from 'commander'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connect.ts'
import { printJson, say } from '../output/print.ts'
import { reportError } from '../output/report-error.ts'
import { act } from '../verb.ts'

const examples = `
Examples:
  holt rm mine
  holt rm $(holt ls -q)`

/** Adds `holt rm`: delete runtimes. */
export function addRm(program: Command): void {
  const command = program
    .command('rm')
    .description('delete runtimes')
    .argument('<runtime...>', 'ids, beginnings of ids, or names')
    .option('--json', 'print the deleted runtimes as JSON')
    .addHelpText('after', examples)
  act(command, removeRuntimes)
}

async function removeRuntimes(texts: string[], { json }: { json?: boolean }): Promise<number> {
  const holt = connect()
  const removed: unknown[] = []
  let failures = 0
  for (const text of texts) {
    try {
      const runtime = await findRuntime(holt, text)
      await runtime.delete()
      if (json === true) {
        await runtime.refresh()
        removed.push(runtime)
      } else say(`Deleted ${runtime.name === null ? runtime.runtime_id : `${runtime.name} (${runtime.runtime_id})`}`)
    } catch (error) {
      // The others are deleted all the same; the exit code says that one was not.
      failures += 1
      reportError(error)
    }
  }
  if (json === true) printJson({ data: removed, next_cursor: null })
  return failures === 0 ? 0 : 1
}
