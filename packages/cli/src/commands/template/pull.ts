import type { Command } from 'commander'
import { connect } from '../../connect.ts'
import { Interrupts } from '../../interrupts.ts'
import { act } from '../../verb.ts'
import { addShowOptions, type ShowOptions, showBuild } from './build.ts'

const examples = `
An agent template is also built when a runtime of it is first asked for. Which there are: holt template ls --kind agent
The version of its program comes with Holt; a pull after an update builds the template anew.

Examples:
  holt template pull claude-code
  holt template pull codex --no-cache`

/** Adds `holt template pull`, which builds an agent template. */
export function addTemplatePull(group: Command): void {
  const command = group
    .command('pull')
    .description('build an agent template: claude-code, codex, gemini-cli or opencode')
    .argument('<template>', 'its name')
    .option('--no-cache', 'use nothing of earlier builds')
  act(
    addShowOptions(command).addHelpText('after', examples),
    async (template: string, options: ShowOptions & { readonly cache: boolean }) => {
      using interrupts = new Interrupts()
      const build = await connect().builds.pull(template, { no_cache: !options.cache })
      return await showBuild(build, interrupts, options)
    },
  )
}
