import type { Command } from 'commander'
import { connect } from '../../connection/connect.ts'
import { Interrupts } from '../../verb/interrupts.ts'
import { act } from '../../verb/verb.ts'
import { addShowOptions, type ShowOptions, showBuild } from './build.ts'

const examples = `
An agent template is also built when a runtime of it is first requested. To list agent templates: holt template ls --kind agent
Holt sets the version of its program. After an update of Holt, a pull builds the template again.

Examples:
  holt template pull claude-code
  holt template pull codex --no-cache`

/** Adds `holt template pull`, which builds an agent template. */
export function addTemplatePull(group: Command): void {
  const command = group
    .command('pull')
    .description('build an agent template: claude-code, codex, gemini-cli, opencode, code-interpreter or desktop')
    .argument('<template>', 'its name')
    .option('--no-cache', 'do not use results of earlier builds')
  act(
    addShowOptions(command).addHelpText('after', examples),
    async (template: string, options: ShowOptions & { readonly cache: boolean }) => {
      using interrupts = new Interrupts()
      const build = await connect().builds.pull(template, { no_cache: !options.cache })
      return await showBuild(build, interrupts, options)
    },
  )
}
