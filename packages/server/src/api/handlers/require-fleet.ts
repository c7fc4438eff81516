import { HoltError } from '@holt/protocol'
import type { Api } from '../api.ts'

/** Throws `conflict` on a machine that is in no fleet. */
export function requireFleet({ config }: Pick<Api, 'config'>): void {
  if (config.fleet === null) throw new HoltError('conflict', 'This machine is in no fleet.')
}
