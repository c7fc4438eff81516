import { type Holt, HoltError } from '@holt/sdk'
import type { Command } from 'commander'
import { connect } from '../connection/connect.ts'
import { act, UsageError } from '../verb/verb.ts'
import { doToEach } from './do-to-each.ts'

/** The option of every verb that deletes. `rm -f $(ls -q)` works even if there is nothing. */
export interface RemoveOptions {
  readonly force?: boolean
}

/** Adds the things to delete, by the name of one of them, and `-f` to a verb. */
export function addRemoveOptions(command: Command, thing: string, how: string): Command {
  return command
    .argument(`[${thing}...]`, how)
    .option('-f, --force', `do not fail for a missing ${thing}, or if none is given`)
}

/** Adds `rm` to the group of a kind of thing: `holt THING rm`. Returns the verb. */
export function addRemove(
  group: Command,
  { thing, description, how }: { readonly thing: string; readonly description: string; readonly how: string },
  remove: (holt: Holt, text: string) => Promise<unknown>,
): Command {
  const command = addRemoveOptions(group.command('rm').description(description), thing, how)
  act(command, (texts: string[], options: RemoveOptions) =>
    removeEach(texts, { ...options, list: `holt ${thing} ls` }, async (text) => {
      await remove(connect(), text)
      return `Deleted ${text}`
    }),
  )
  return command
}

/** Deletes each named thing. `list` is the command that lists the names. Returns the exit code. */
export function removeEach(
  texts: readonly string[],
  { force = false, list }: RemoveOptions & { readonly list: string },
  remove: (text: string) => Promise<string>,
): Promise<number> {
  if (texts.length === 0 && !force) throw new UsageError(`Name what to delete: ${list}`)
  return doToEach(texts, {}, async (text) => {
    try {
      return { told: await remove(text) }
    } catch (error) {
      // With --force, a missing thing is success.
      if (!force || !isNotThere(error)) throw error
      return { told: `${text} is not there` }
    }
  })
}

function isNotThere(error: unknown): boolean {
  return error instanceof HoltError && error.code.endsWith('_not_found')
}
