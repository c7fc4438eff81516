import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { WantedChild } from './make-child.ts'

/** Makes a child of a fork on another host. Returns its row; null if no other host can make it. */
export type MakeChildElsewhere = (parent: RuntimeRow, wanted: WantedChild) => Promise<RuntimeRow | null>

/** The other hosts of the fleet for the children that this host has no room for. */
export class ForkHosts {
  /** Null: there are no other hosts. */
  makeChild: MakeChildElsewhere | null = null
}
