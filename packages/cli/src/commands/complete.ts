import type { Command } from 'commander'
import { complete } from '../completion/candidates.ts'
import { sources } from '../completion/sources.ts'
import { print } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { act } from '../verb.ts'

/**
 * Adds the hidden verb that the completion scripts ask: a candidate per line, its description
 * behind a tab.
 */
export function addComplete(program: Command): void {
  const command = program.command('__complete', { hidden: true }).argument('[words...]')
  act(command, async (words: string[]) => {
    try {
      const { candidates, files } = await complete(program, words, sources)
      for (const { value, about } of candidates) print(`${printable(value)}\t${printable(about)}`)
      if (files) print(':files')
    } catch {
      // A key press is no place for an error: without the service there is nothing to offer.
    }
    return 0
  })
}
