import { type KyselyPlugin, OperationNodeTransformer, type TableNode } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { SigningKeys } from '../../src/identity/signing-keys.ts'
import { openMasterKeys } from '../../src/sealing/master-keys.ts'
import type { Store } from '../../src/store/open-store.ts'
import { keepingLog } from '../support/start-test-server.ts'
import { newStateDir, openTestStore } from '../support/test-store.ts'

/** Fails what names the table as SQLite does where a disk fails. */
class FailsAt extends OperationNodeTransformer implements KyselyPlugin {
  readonly table: string
  constructor(table: string) {
    super()
    this.table = table
  }
  protected override transformTable(node: TableNode): TableNode {
    if (node.table.identifier.name === this.table) throw Object.assign(new Error('disk I/O error'), { errcode: 10 })
    return super.transformTable(node)
  }
  readonly transformQuery: KyselyPlugin['transformQuery'] = ({ node }) => this.transformNode(node)
  readonly transformResult: KyselyPlugin['transformResult'] = async ({ result }) => result
}

test('a signing key that cannot be read now is no damaged one: whoever asks fails, and the key signs on after that', async () => {
  const stateDir = await newStateDir()
  const store = await openTestStore(stateDir)
  onTestFinished(() => store.close())
  const { log, logged } = keepingLog()
  const parts = { store, masterKeys: await openMasterKeys(stateDir, { now: 1 }), now: Date.now, log }
  const { kid } = await new SigningKeys(parts).current('RS256')
  const failing: Store = {
    db: store.db.withPlugin(new FailsAt('sealed_values')),
    change: (run, options) => store.change(run, options),
    settled: () => store.settled(),
    refillReserve: () => store.refillReserve(),
    close: () => store.close(),
  }
  await expect(new SigningKeys({ ...parts, store: failing }).current('RS256')).rejects.toThrow('disk I/O error')
  expect((await new SigningKeys(parts).current('RS256')).kid).toBe(kid)
  expect(logged).toEqual([])
})
