import type { Command } from 'commander'
import { complete } from '../completion/candidates.ts'
import { sources } from '../completion/sources.ts'
import { print } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { act } from '../verb/verb.ts'

/**
 * Adds the hidden verb for the completion scripts. It prints a candidate per line, with its
 * description after a tab.
 */
export function addComplete(program: Command): void {
  const command = program.command('__complete', { hidden: true }).argument('[words...]')
  act(command, async (words: string[]) => {
    try {
      const { candidates, files } = await complete(program, words, sources)
      for (const { value, about } of candidates) print(`${printable(value)}\t${printable(about)}`)
      if (files) print(':files')
    } catch {
      // A key press must not print an error. Without the service there are no candidates.
    }
    return 0
  })
}
