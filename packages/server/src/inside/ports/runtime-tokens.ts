import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { makePortToken, type PortGrant } from './port-token.ts'
import { sandboxToken, type TokenUse } from './sandbox-token.ts'

/** A token of a port that is to be made. */
type WantedPortToken = PortGrant & { readonly projectId: string }

/** The parts of a runtime that its tokens for E2B's clients depend on. */
type TokenHolder = Pick<RuntimeRow, 'project_id' | 'runtime_id' | 'token_generation'>

/** Makes the tokens by which clients use a runtime without an API key. */
export interface RuntimeTokens {
  /** Returns a token of a port. */
  port(wanted: WantedPortToken): Promise<string>
  /** Returns the token that E2B's clients have for a use of a runtime. */
  sandbox(use: TokenUse, holder: TokenHolder): Promise<string>
}

/** Returns the tokens of a host that has the secret which signs them. */
export function signedTokens(secret: Buffer): RuntimeTokens {
  return {
    port: async (grant) => makePortToken(secret, grant),
    sandbox: async (use, holder) => sandboxToken(secret, use, holder),
  }
}
