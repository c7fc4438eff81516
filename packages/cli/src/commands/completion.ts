import { Argument, type Command } from 'commander'
import { completionScripts, type Shell, shells } from '../completion/scripts.ts'
import { act } from '../verb.ts'

const examples = `
Examples:
  source <(holt completion bash)                                   for this shell; in ~/.bashrc for every one
  holt completion zsh > "\${fpath[1]}/_holt"
  holt completion fish > ~/.config/fish/completions/holt.fish`

/** Adds `holt completion`, which prints the script for a shell. */
export function addCompletion(program: Command): void {
  const command = program
    .command('completion')
    .description('print the script that makes a shell complete commands, options, runtimes and templates')
    .addArgument(new Argument('<shell>', 'for which shell').choices(shells))
    .addHelpText('after', examples)
  act(command, async (shell: Shell) => {
    process.stdout.write(completionScripts[shell])
    return 0
  })
}
