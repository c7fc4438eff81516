import { type CreateRuntime, HoltError } from '@holt/protocol'
import type { Refuse } from '../../foundation/errors/refuse.ts'
import type { Runtimes } from '../runtimes.ts'

/** Refuses a cloud or region that this server does not serve. */
export function requireRegion(
  { config }: Pick<Runtimes, 'config'>,
  { cloud, region }: Pick<CreateRuntime, 'cloud' | 'region'>,
  refuse: Refuse,
): void {
  for (const [name, asked, served] of [
    ['cloud', cloud, config.cloud],
    ['region', region, config.region],
  ] as const) {
    if (asked === undefined || asked === served) continue
    refuse(
      new HoltError('unsupported_setting', `This server serves only the ${name} ${served}.`, {
        details: { issues: [{ pointer: `/${name}`, message: `must be ${served}` }] },
      }),
    )
  }
}
