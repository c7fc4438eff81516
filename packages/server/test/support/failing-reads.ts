import { type KyselyPlugin, OperationNodeTransformer, type TableNode } from 'kysely'
import type { Store } from '../../src/foundation/store/open-store.ts'

/** Fails what reads of the table as SQLite does where a disk fails. */
class FailsReads extends OperationNodeTransformer implements KyselyPlugin {
  readonly table: string
  constructor(table: string) {
    super()
    this.table = table
  }
  protected override transformTable(node: TableNode): TableNode {
    if (node.table.identifier.name === this.table) throw Object.assign(new Error('disk I/O error'), { errcode: 10 })
    return super.transformTable(node)
  }
  readonly transformQuery: KyselyPlugin['transformQuery'] = ({ node }) =>
    node.kind === 'SelectQueryNode' ? this.transformNode(node) : node
  readonly transformResult: KyselyPlugin['transformResult'] = async ({ result }) => result
}

/** A store of which one table cannot be read, also in a change. */
export function failingReads(store: Store, table: string): Store {
  const plugin = new FailsReads(table)
  return {
    ...store,
    db: store.db.withPlugin(plugin),
    change: (alone, run, options) =>
      store.change(alone, (changes) => run(changes.withPlugin(plugin) as typeof changes), options),
  }
}
