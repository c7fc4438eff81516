import { pause } from '../foundation/async/pause.ts'
import { cutVisitsOf } from '../tenancy/keys/end-tokens.ts'
import type { Resources } from './resources.ts'

/** The interval between two looks, in milliseconds. */
const lookMs = 1_000

/**
 * The age of the changes that are looked for, in milliseconds. The clocks of two hosts differ by
 * less.
 */
const lookBackMs = 10 * 60_000

/**
 * Applies what other hosts of a fleet have stored: changes of policies, secrets and quotas, and the
 * end of tokens. Those hosts have asked this one to apply it at once. The looks find what was not
 * received.
 */
class ChangesOfOthers {
  readonly #service: Resources
  #applied: ReadonlySet<string> = new Set()

  constructor(service: Resources) {
    this.#service = service
  }

  /**
   * Looks for changes, and applies each once to the runtimes of this host. A change of this host is
   * applied again, which does no harm. Rejects if the store cannot be read; the next look repeats
   * what is missing. `onRead` is called when the changes were read.
   */
  async look(onRead: () => void): Promise<void> {
    const { store, networks, projects, now } = this.#service
    const since = now() - lookBackMs
    const policies = await store.db
      .selectFrom('policies')
      .select(['project_id', 'policy_id', 'revision'])
      .where('updated_at', '>', since)
      .execute()
    const secrets = await store.db
      .selectFrom('secrets')
      .select(['project_id', 'secret_id', 'version', 'deleted_at'])
      .where(({ eb, or }) => or([eb('updated_at', '>', since), eb('deleted_at', '>', since)]))
      .execute()
    const quotas = await store.db
      .selectFrom('projects')
      .select(['project_id', 'quotas_json'])
      .where('updated_at', '>', since)
      .execute()
    const ended = await this.#endedTokens(since)
    onRead()
    const applied = new Set<string>()
    const once = async (name: string, apply: () => Promise<void>) => {
      if (!this.#applied.has(name)) await apply()
      applied.add(name)
    }
    for (const { project_id, policy_id, revision } of policies)
      await once(`${policy_id} ${revision}`, () => networks.policyChanged(project_id, policy_id))
    for (const { project_id, secret_id, version, deleted_at } of secrets)
      await once(`${secret_id} ${version} ${deleted_at}`, () => networks.secretChanged(project_id, secret_id))
    for (const { project_id, quotas_json } of quotas)
      await once(`${project_id} ${quotas_json}`, () => projects.refresh(project_id))
    for (const { key_id, revoked_at, tokens_ended_at } of ended)
      await once(`${key_id} ${revoked_at} ${tokens_ended_at}`, () => cutVisitsOf(this.#service, [key_id]))
    this.#applied = applied
  }

  /** Returns the keys whose tokens for E2B's clients have ended. Clients never visit a worker. */
  async #endedTokens(since: number) {
    const { store, config } = this.#service
    if (config.e2b === null || config.e2b.keepTokens || config.fleet?.role === 'worker') return []
    return store.db
      .selectFrom('keys')
      .select(['key_id', 'revoked_at', 'tokens_ended_at'])
      .where(({ eb, or }) => or([eb('revoked_at', '>', since), eb('tokens_ended_at', '>', since)]))
      .execute()
  }
}

/**
 * Applies the changes of other hosts until the service closes. `onRead` is called each time that
 * they were read. Never rejects.
 */
export async function followChangesOfOthers(service: Resources, onRead: () => void): Promise<void> {
  const changes = new ChangesOfOthers(service)
  while (!service.closing.aborted) {
    await changes.look(onRead).catch((err: unknown) => {
      service.log.error({ err }, 'the changes of other hosts could not be applied')
    })
    await pause(lookMs, service.closing)
  }
}
