import type { CreateBuild, CreateRuntime, RouteName } from '@holt/protocol'
import { buildHome } from '../../builds/build-home.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import type { WantedThing } from '../../foundation/wire/forwarder.ts'
import { findTemplate } from '../../resources/templates/find-template.ts'
import type { Api } from '../api.ts'

/** A parsed request that placement sends to a host. */
interface PlacedCall {
  readonly name: RouteName
  readonly caller: Caller
  readonly params: unknown
  readonly body: unknown
}

/** Returns the thing that a placed request makes. Throws if its template does not exist. */
export async function wantedThing(service: Api, { name, caller, params, body }: PlacedCall): Promise<WantedThing> {
  const { projectId } = caller
  if (name === 'createBuild') return { type: 'build', homeKey: buildHome(projectId, (body as CreateBuild).name) }
  if (name !== 'pullTemplate') return { type: 'runtime', create: body as CreateRuntime }
  const { template_id: reference } = params as { readonly template_id: string }
  const row = await findTemplate(service, { projectId, reference })
  return { type: 'build', homeKey: buildHome(row.project_id, row.name) }
}
