import { signingAlgorithms } from '@holt/protocol'

/**
 * Returns the description of this issuer for verifiers (OpenID Connect Discovery 1.0, section 3).
 * It has no endpoints for people: tokens come from secrets only.
 */
export function discovery(issuer: string) {
  return {
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...signingAlgorithms],
    claims_supported: ['iss', 'sub', 'aud', 'exp', 'iat', 'nbf', 'jti', 'project_id', 'runtime_id'],
  }
}
