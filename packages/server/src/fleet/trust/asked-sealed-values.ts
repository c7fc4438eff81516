import {
  type FoundSealed,
  type NewSealedValue,
  type SealedOwner,
  type SealedValues,
  type StoreSealed,
  storeSealed,
} from '../../foundation/sealing/sealed-values.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { caPurpose } from '../../resources/network/decide-network.ts'
import type { FrontQuestions } from './front-questions.ts'
import {
  type AuthorityOf,
  OpenedAuthority,
  openAuthorityPath,
  type SealAuthority,
  SealedAuthority,
  sealAuthorityPath,
} from './sealed-verbs.ts'

/** The time for an answer, in milliseconds. */
const answerMs = 2_000

/**
 * The sealed values of a worker: keys of the authorities of runtimes. It has no master keys, so
 * fronts seal and open them. All other sealed values are for fronts alone.
 */
export class AskedSealedValues implements SealedValues {
  readonly #fronts: FrontQuestions

  constructor(fronts: FrontQuestions) {
    this.#fronts = fronts
  }

  async put(_changes: Queries, { purpose }: NewSealedValue): Promise<void> {
    throw new Error(`a worker seals no value in a change, and none of the purpose ${purpose}`)
  }

  async prepare({ projectId, ownerId, purpose, version, value }: NewSealedValue): Promise<StoreSealed> {
    const owner = authorityOf({ projectId, ownerId, purpose })
    const question: SealAuthority = { ...owner, version, value }
    const answer = await this.#fronts.ask({ path: sealAuthorityPath, projectId: owner.projectId, question, answerMs })
    const sealed = SealedAuthority.parse(answer)
    return (changes) => storeSealed(changes, { projectId, ownerId, purpose, version }, sealed)
  }

  async read(_db: Queries, owner: SealedOwner): Promise<string | null> {
    const question = authorityOf(owner)
    const { projectId } = question
    return OpenedAuthority.parse(await this.#fronts.ask({ path: openAuthorityPath, projectId, question, answerMs }))
      .value
  }

  async find(db: Queries, owner: SealedOwner): Promise<FoundSealed | null> {
    const value = await this.read(db, owner)
    return value === null ? null : { open: async () => value }
  }
}

/** Returns the question about a key of an authority. Throws for other values. */
function authorityOf({ projectId, ownerId, purpose }: SealedOwner): AuthorityOf {
  if (purpose !== caPurpose || projectId === null)
    throw new Error(`a worker has no right to a sealed value of the purpose ${purpose}`)
  return { projectId, ownerId }
}
