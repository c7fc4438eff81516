import type { Command } from 'commander'

/** The form of a list: a table, only the names, or the API's own objects. */
export interface ListOptions {
  readonly quiet?: boolean
  readonly json?: boolean
}

/** Adds the options for the form of a list to a verb. */
export function addListOptions(command: Command, { only = 'ids' }: { readonly only?: string } = {}): Command {
  return command.option('-q, --quiet', `only the ${only}`).option('--json', 'print the list as JSON')
}
