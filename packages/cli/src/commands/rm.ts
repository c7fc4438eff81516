import { type Holt, HoltError } from '@holt/sdk'
import type { Command } from 'commander'
import { doToEach } from '../arguments/do-to-each.ts'
import { findRuntime, liveRuntimes } from '../arguments/find-runtime.ts'
import { connect } from '../connection/connect.ts'
import { labelOf } from '../output/describe-runtime.ts'
import { isInteractive } from '../terminal/local-terminal.ts'
import { act, UsageError } from '../verb/verb.ts'

const examples = `
Examples:
  holt rm mine
  holt rm -f mine             succeeds if it is already gone
  holt rm -f $(holt ls -q)    succeeds if there are none
  holt rm --all               every runtime of the project; asks first`

interface RmOptions {
  readonly force?: boolean
  readonly all?: boolean
  readonly json?: boolean
}

/** Adds `holt rm`, which deletes runtimes. */
export function addRm(program: Command): void {
  const command = program
    .command('rm')
    .description('delete runtimes')
    .argument('[runtime...]', 'ids, beginnings of ids, or names')
    .option('-f, --force', 'do not ask, and do not fail for a missing runtime')
    .option('--all', 'every runtime of the project')
    .option('--json', 'print the deleted runtimes as JSON')
    .addHelpText('after', examples)
  act(command, removeRuntimes)
}

async function removeRuntimes(named: string[], options: RmOptions): Promise<number> {
  const { force = false, all = false, json = false } = options
  if (all && named.length > 0) throw new UsageError('Name runtimes, or give --all')
  if (!all && !force && named.length === 0) throw new UsageError('Name the runtimes, or give --all: holt ls')
  const holt = connect()
  const texts = all ? await allOf(holt, force) : named
  return doToEach(texts, options, async (text) => {
    try {
      const runtime = await findRuntime(holt, text)
      await runtime.delete()
      if (json) await runtime.refresh()
      return { told: `Deleted ${labelOf(runtime)}`, object: runtime }
    } catch (error) {
      // With --force, a missing runtime is success.
      if (!force || !(error instanceof HoltError) || error.code !== 'runtime_not_found') throw error
      return { told: `${text} is not there` }
    }
  })
}

/**
 * Returns the ids of all runtimes that have not ended, after a person has agreed to their number.
 */
async function allOf(holt: Holt, force: boolean): Promise<readonly string[]> {
  if (!force && !isInteractive())
    throw new UsageError('--all asks before it deletes, but stdin is not a terminal. Use: holt rm --all -f')
  const ids = (await liveRuntimes(holt)).map(({ runtime_id }) => runtime_id)
  if (force || ids.length === 0) return ids
  const { confirm } = await import('@clack/prompts')
  const message = `Delete ${ids.length === 1 ? 'the one runtime' : `all ${ids.length} runtimes`} of the project?`
  // A cancelled prompt returns a symbol, not an answer.
  if ((await confirm({ message, initialValue: false, output: process.stderr })) === true) return ids
  throw new UsageError('Nothing was deleted.')
}
