import { Argument, type Command } from 'commander'
import { completionScripts, type Shell, shells } from '../completion/scripts.ts'
import { act } from '../verb/verb.ts'

const examples = `
Examples:
  source <(holt completion bash)                                   for this shell; put it into ~/.bashrc for all
  holt completion zsh > "\${fpath[1]}/_holt"
  holt completion fish > ~/.config/fish/completions/holt.fish`

/** Adds `holt completion`, which prints the script for a shell. */
export function addCompletion(program: Command): void {
  const command = program
    .command('completion')
    .description('print a script that lets a shell complete commands, options, runtimes and templates')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText('after', examples)
  act(command, async (shell: Shell) => {
    process.stdout.write(completionScripts[shell])
    return 0
  })
}
