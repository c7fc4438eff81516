import type { Command } from 'commander'
import { connect } from '../connection/connect.ts'
import { print, printJson } from '../output/print.ts'
import { quotaLines } from '../output/quota-lines.ts'
import { printTable } from '../output/table.ts'
import { printable } from '../output/visible.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  holt whoami
  holt whoami --json | jq -r .project.name`

/** Adds `holt whoami`, which shows the key in use and its project. */
export function addWhoami(program: Command): void {
  const command = program
    .command('whoami')
    .description('show the key in use, its project, and the quotas and usage of the project')
    .option('--json', 'print it as JSON')
    .addHelpText('after', examples)
  act(command, async ({ json }: { json?: boolean }) => {
    const identity = await connect().whoami()
    if (json === true) {
      printJson(identity)
      return 0
    }
    const { key, project, quotas, use } = identity
    print(`key        ${printable(key.name)} (${key.key_id}), ${key.prefix}…`)
    print(`scopes     ${key.scopes.join(', ')}`)
    print(`expires    ${key.expires_at ?? 'never'}`)
    print(`project    ${project.name} (${project.project_id})`)
    printTable(quotaLines(quotas, use), [
      ['QUOTA', ({ name }) => name],
      ['USED', ({ used }) => used],
      ['LIMIT', ({ limit }) => limit],
    ])
    return 0
  })
}
