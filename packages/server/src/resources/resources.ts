import type { Artifacts } from '../artifacts/artifacts.ts'
import type { Tenancy } from '../tenancy/tenancy.ts'
import type { AgentTemplate } from './agents/agent-template.ts'
import { AgentTemplates } from './agents/agent-templates.ts'
import { OAuthTokens } from './identity/oauth-tokens.ts'
import { SigningKeys } from './identity/signing-keys.ts'
import { WorkloadTokens } from './identity/workload-tokens.ts'
import { AddressBook } from './network/address-book.ts'
import { DecisionLog } from './network/decision-log.ts'
import type { Outside } from './network/open-outside.ts'
import { RuntimeNetworks } from './network/runtime-networks.ts'
import { type ReadSecretValue, storedSecretValues } from './secrets/secret-values.ts'
import { TemplateProgress } from './templates/template-progress.ts'

/** The handle of resources: the templates, networks, secrets and identities that runtimes use. */
export interface Resources extends Tenancy {
  readonly artifacts: Artifacts
  readonly agents: AgentTemplates
  readonly templateProgress: TemplateProgress
  readonly networks: RuntimeNetworks
  readonly decisions: DecisionLog
  readonly signingKeys: SigningKeys
  readonly oauthTokens: OAuthTokens
  readonly workloadTokens: WorkloadTokens
  readonly secretValue: ReadSecretValue
}

/** The parts of resources that are opened elsewhere. */
interface ResourcesOptions {
  readonly artifacts: Artifacts
  readonly outside: Pick<Outside, 'gateway' | 'dialTls'>
  readonly agentTemplates: readonly AgentTemplate[]
  /** Reads the values of secrets. Default: from the store of this host. */
  readonly secretValue?: ReadSecretValue | undefined
}

/** Makes the parts of resources. */
export function openResources(
  tenancy: Tenancy,
  { artifacts, outside, agentTemplates, secretValue }: ResourcesOptions,
): Resources {
  const { store, log, now, issuer } = tenancy
  const signingKeys = new SigningKeys(tenancy)
  const oauthTokens = new OAuthTokens(outside.dialTls, now)
  const workloadTokens = new WorkloadTokens({ signingKeys, issuer, now })
  const addresses = new AddressBook(store, log)
  const resources: Resources = {
    ...tenancy,
    artifacts,
    agents: new AgentTemplates(agentTemplates),
    templateProgress: new TemplateProgress(),
    networks: new RuntimeNetworks(() => resources, { gateway: outside.gateway, addresses }),
    decisions: new DecisionLog(store, log),
    signingKeys,
    oauthTokens,
    workloadTokens,
    secretValue: secretValue ?? storedSecretValues({ ...tenancy, oauthTokens, workloadTokens }),
  }
  return resources
}
