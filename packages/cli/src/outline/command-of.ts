import { Argument, Command, Option } from 'commander'
import type { CommandOutline } from './outline-of.ts'

/**
 * Adds the command of an outline, for help, completion and suggestions. Running it does nothing.
 */
export function addOutlined(parent: Command, outline: CommandOutline): void {
  const command = new Command(outline.name).copyInheritedSettings(parent)
  command.description(outline.description)
  if (outline.group !== '') command.helpGroup(outline.group)
  for (const { flags, description, choices, default: value } of outline.options) {
    const option = new Option(flags, description)
    if (choices !== undefined) option.choices([...choices])
    command.addOption(value === undefined ? option : option.default(value))
  }
  for (const { text, description, choices, default: value } of outline.arguments) {
    const argument = new Argument(text, description)
    if (choices !== undefined) argument.choices([...choices])
    command.addArgument(value === undefined ? argument : argument.default(value))
  }
  if (outline.after !== '') command.addHelpText('after', outline.after.slice(0, -1)) // It ends the line itself.
  for (const one of outline.commands) addOutlined(command, one)
  parent.addCommand(command)
}
