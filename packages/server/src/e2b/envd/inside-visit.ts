import type { GuestClient } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { SandboxVisit } from '../sandbox/sandbox-visit.ts'
import { envdErrorOf } from './envd-error.ts'

/** The working directory of Holt's own templates. Clients of E2B get the user's home instead. */
const holtDirectory = '/workspace'

/** A visit to a runtime that runs. */
export class InsideVisit {
  readonly visit: SandboxVisit
  readonly guest: GuestClient

  constructor(visit: SandboxVisit, guest: GuestClient) {
    this.visit = visit
    this.guest = guest
  }

  /** Returns the account for a request that names this one. Null: the user of the template. */
  accountOf(named: string | null): string {
    const [user] = this.#row.user.split(':', 1)
    return named ?? (user || 'root')
  }

  /** Returns the path for one of a request. An empty one is the directory of the template. */
  pathOf(path: string): string {
    const { workdir } = this.#row
    return path === '' && workdir !== holtDirectory ? workdir : path
  }

  /** Returns the result of a request to the guest. Rejects with the errors of the clients. */
  async ask<Result>(account: string, work: Promise<Result>): Promise<Result> {
    try {
      return await work
    } catch (error) {
      if (!(error instanceof HoltError)) throw error
      throw envdErrorOf(error, { sandboxId: this.#row.runtime_id, account })
    }
  }

  get #row(): RuntimeRow {
    return this.visit.row
  }
}
