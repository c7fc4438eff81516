import type { Argument, Command, Option } from 'commander'

/** An option as in the help. */
interface OptionOutline {
  readonly flags: string
  readonly description: string
  readonly choices?: readonly string[]
  readonly default?: unknown
}

/** An argument as in the help. */
interface ArgumentOutline {
  /** `<name>`, `[name]` or `<name...>`. */
  readonly text: string
  readonly description: string
  readonly choices?: readonly string[]
  readonly default?: unknown
}

/** The facts about a command and its subcommands that help and completion need, as plain data. */
export interface CommandOutline {
  readonly name: string
  readonly description: string
  readonly group: string
  readonly options: readonly OptionOutline[]
  readonly arguments: readonly ArgumentOutline[]
  /** The text after the help. */
  readonly after: string
  readonly commands: readonly CommandOutline[]
}

/** Describes a command with all its subcommands. */
export function outlineOf(command: Command): CommandOutline {
  return {
    name: command.name(),
    description: command.description(),
    group: command.helpGroup() ?? '',
    options: command.options.filter((option) => option.long !== '--version').map(ofOption),
    arguments: command.registeredArguments.map(ofArgument),
    after: textAfterHelp(command),
    commands: command.commands.map(outlineOf),
  }
}

function ofOption({ flags, description, argChoices, defaultValue }: Option): OptionOutline {
  return { flags, description, ...withValues(argChoices, defaultValue) }
}

function ofArgument(argument: Argument): ArgumentOutline {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  const text = argument.required ? `<${name}>` : `[${name}]`
  return { text, description: argument.description, ...withValues(argument.argChoices, argument.defaultValue) }
}

function withValues(choices: readonly string[] | undefined, value: unknown) {
  return { ...(choices === undefined ? {} : { choices }), ...(value === undefined ? {} : { default: value }) }
}

function textAfterHelp(command: Command): string {
  const { writeOut } = command.configureOutput()
  let help = ''
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
  if (writeOut !== undefined) command.configureOutput({ writeOut })
  return help.slice(command.helpInformation().length)
}
