import { OneTimeCodes } from '../../foundation/request/one-time-codes.ts'
import type { PortCredentials } from './port-credentials.ts'
import type { PortGrant } from './port-token.ts'

interface ProjectGrant extends PortGrant {
  readonly projectId: string
}

const form = /^hp1\.([A-Za-z0-9_-]{43})$/

/**
 * The tokens of ports that admit one request each. A browser opens an address with one, and gets a
 * cookie with an ordinary token. So no token that still works is in a history or a log.
 */
export class OnceTokens {
  readonly #codes: OneTimeCodes<ProjectGrant>
  /** The grants of requests. A request may be judged again, while its token works only once. */
  readonly #taken = new WeakMap<PortCredentials, PortGrant | null>()

  constructor(now: () => number) {
    this.#codes = new OneTimeCodes(now)
  }

  /** Makes a token for a port. It admits one request, as an ordinary one with the same content. */
  make(grant: ProjectGrant): { readonly token: string; readonly expiresAt: number } {
    const { code, expiresAt } = this.#codes.make(grant)
    return { token: `hp1.${code}`, expiresAt }
  }

  /**
   * Returns the content of a request's token, and forgets it. Null if the request has no such
   * token, or one of another port.
   */
  take(credentials: PortCredentials, { runtimeId, port }: Pick<PortGrant, 'runtimeId' | 'port'>): PortGrant | null {
    const known = this.#taken.get(credentials)
    if (known !== undefined) return known
    const [, code] = form.exec(credentials.token ?? '') ?? []
    const found = code === undefined ? null : this.#codes.take(code)
    const grant = found?.runtimeId === runtimeId && found.port === port ? found : null
    this.#taken.set(credentials, grant)
    return grant
  }
}
