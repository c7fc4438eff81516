import { z } from 'zod'
import { idSchema } from './ids.ts'
import { Timestamp } from './page.ts'

/** The name of a shell session of a runtime. */
export const SessionName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be 1 to 64 letters, digits, _, . or -, the first a letter or digit')

/**
 * A shell session. Its commands run one after another, and each begins with the state that the
 * previous one left.
 */
export const Session = z
  .object({
    name: SessionName.describe('The name of the session, for the field `session` of a command.'),
    shell: z.string().describe('The shell program: bash if the runtime has it, else sh.'),
    user: z.string().describe('The user of the shell.'),
    cwd: z.string().describe('The directory in which the next command starts.'),
    commands: z.number().int().describe('The number of commands that were started in the session.'),
    command_id: idSchema('command').nullable().describe('The command that runs in the session now; null if none runs.'),
    created_at: Timestamp.describe('When the first command started (RFC 3339 UTC with milliseconds).'),
    last_used_at: Timestamp.describe('When the last command started (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Session' })
export type Session = z.infer<typeof Session>
