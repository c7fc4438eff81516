import type { SealedValues } from '../../foundation/sealing/sealed-values.ts'
import type { RuntimeTokens } from '../../inside/ports/runtime-tokens.ts'
import type { ReadSecretValue } from '../../resources/secrets/secret-values.ts'
import type { AskRecordKeys } from '../../tenancy/idempotency/record-state.ts'
import { AskedSealedValues } from './asked-sealed-values.ts'
import type { FrontQuestions } from './front-questions.ts'
import { askedRecordKeys } from './record-key-verbs.ts'
import { askedSecretValues } from './secret-verbs.ts'
import { askedTokens } from './token-verbs.ts'

/** The parts of a worker's service that ask fronts, because it has no keys. */
export interface AskedOfFronts {
  readonly sealedValues: SealedValues
  readonly secretValue: ReadSecretValue
  readonly recordKeys: AskRecordKeys
  readonly runtimeTokens: RuntimeTokens
}

/** Makes the parts that ask fronts. */
export function askedOfFronts(fronts: FrontQuestions): AskedOfFronts {
  return {
    sealedValues: new AskedSealedValues(fronts),
    secretValue: askedSecretValues(fronts),
    recordKeys: askedRecordKeys(fronts),
    runtimeTokens: askedTokens(fronts),
  }
}
