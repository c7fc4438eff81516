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
    name: SessionName.describe('The name that commands use.'),
    shell: z.string().describe('The program: bash where the runtime has one, else sh.'),
    user: z.string().describe('The user of its shell.'),
    cwd: z.string().describe('Where the next command begins.'),
    commands: z.number().int().describe('How many have been started in it.'),
    command_id: idSchema('command').nullable().describe('The command that runs in it now.'),
    created_at: Timestamp.describe('When its first command was started (RFC 3339 UTC with milliseconds).'),
    last_used_at: Timestamp.describe('When its last command was started (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'Session' })
export type Session = z.infer<typeof Session>
