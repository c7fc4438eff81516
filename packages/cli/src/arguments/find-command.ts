import { type CommandHandle, HoltError, type Runtime } from '@holt/sdk'
import { shellWord } from '../shell/shell-word.ts'

/** Returns the command for a text: the newest whose id begins with it, or the newest of all. */
export async function findCommand(
  runtime: Runtime,
  text: string | undefined,
  state?: 'running' | 'exited',
): Promise<CommandHandle> {
  for await (const command of runtime.commands.list({ limit: 100, ...(state === undefined ? {} : { state }) })) {
    if (text === undefined || command.command_id.startsWith(text)) return command
  }
  const none = state === undefined ? 'The runtime has no commands' : `No command of the runtime is ${state}`
  throw new HoltError('command_not_found', text === undefined ? none : `No command's id begins with ${text}`, {
    hint: `List the commands: holt ps ${shellWord(runtime.name ?? runtime.runtime_id)}`,
  })
}
