import type { GuestSession, StartProcess } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'

/** A shell session of a fake guest. Its only state is the directory that `cd` has set. */
export interface FakeSession {
  readonly info: { -readonly [Key in keyof GuestSession]: GuestSession[Key] }
}

/** The shell sessions of a fake guest. A request to a busy session is refused at once. */
export class FakeSessions {
  readonly #sessions = new Map<string, FakeSession>()

  /** Returns a copy with the same sessions. */
  copy(): FakeSessions {
    const copy = new FakeSessions()
    for (const [name, { info }] of this.#sessions) copy.#sessions.set(name, { info: { ...info } })
    return copy
  }

  list(): FakeAnswer {
    return { json: { sessions: [...this.#sessions.values()].map(({ info }) => info).reverse() } }
  }

  /** Removes a session. Returns the id of the process that runs in it. */
  remove(name: string): string | null {
    const session = this.#sessions.get(name)
    if (session === undefined) throw new HoltError('session_not_found', `there is no session ${name}`)
    this.#sessions.delete(name)
    return session.info.current
  }

  /** Frees the session of a process that has ended. */
  leave(name: string | null): void {
    const session = this.#sessions.get(name ?? '')
    if (session !== undefined) session.info.current = null
  }

  /** Returns the session of a process. */
  enter({ id, session: name, user }: StartProcess, defaults: { user: string; workdir: string }): FakeSession | null {
    if (name === undefined) return null
    const now = Date.now()
    const session = this.#sessions.get(name) ?? {
      info: {
        name,
        shell: '/bin/bash',
        user: user ?? defaults.user,
        cwd: defaults.workdir,
        commands: 0,
        current: null,
        started_at_ms: now,
        used_at_ms: now,
      },
    }
    if (session.info.current !== null)
      throw new HoltError('conflict', `session ${name} is busy`, { details: { reason: 'session_busy' } })
    this.#sessions.set(name, session)
    Object.assign(session.info, { current: id, commands: session.info.commands + 1, used_at_ms: now })
    return session
  }
}
