import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { WantedChild } from './make-child.ts'

/** Makes a child of a fork on another host. Returns its row. */
export type MakeChildElsewhere = (parent: RuntimeRow, wanted: WantedChild) => Promise<RuntimeRow>

/** The other hosts of the fleet for the children that this host has no room for. */
export class ForkHosts {
  /** Null: there are no other hosts. */
  makeChild: MakeChildElsewhere | null = null
}
