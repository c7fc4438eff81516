import { z } from 'zod'
import * as word from '../answers/words.ts'

/** A shell session as the guest knows it. */
const GuestSession = z.object({
  name: word.sessionName,
  shell: word.path,
  user: word.owner,
  cwd: word.directory,
  commands: word.count,
  current: word.processId.nullable(),
  started_at_ms: word.momentMs,
  used_at_ms: word.momentMs,
})
export type GuestSession = z.infer<typeof GuestSession>

/** `GET /v1/sessions`. */
export const GuestSessions = z.object({ sessions: z.array(GuestSession).max(64) })
