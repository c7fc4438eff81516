import { expect, onTestFinished, test } from 'vitest'
import { openMasterKeys } from '../../../src/foundation/sealing/master-keys.ts'
import { StoredSealedValues } from '../../../src/foundation/sealing/stored-sealed-values.ts'
import { recordKeys } from '../../../src/tenancy/idempotency/record-keys.ts'
import { RecordState } from '../../../src/tenancy/idempotency/record-state.ts'
import { failingReads } from '../../support/failing-reads.ts'
import { keepingLog } from '../../support/start-test-server.ts'
import { newStateDir, openTestStore } from '../../support/test-store.ts'

test('a record key that cannot be read now is an error, and is not replaced', async () => {
  const stateDir = await newStateDir()
  const store = await openTestStore(stateDir)
  onTestFinished(() => store.close())
  const { log, logged } = keepingLog()
  const sealedValues = new StoredSealedValues(await openMasterKeys(stateDir, { now: 1 }))
  const parts = { store, sealedValues, log, records: new RecordState() }
  const keys = await recordKeys(parts, 'pr1')
  const row = () => store.db.selectFrom('sealed_values').selectAll().executeTakeFirstOrThrow()
  const before = await row()
  await expect(
    recordKeys({ ...parts, store: failingReads(store, 'sealed_values'), records: new RecordState() }, 'pr1'),
  ).rejects.toThrow('disk I/O error')
  expect(await row()).toEqual(before)
  // As a later start reads it.
  const later = failingReads(store, 'none')
  expect(await recordKeys({ ...parts, store: later, records: new RecordState() }, 'pr1')).toEqual(keys)
  expect(logged).toEqual([])
})
