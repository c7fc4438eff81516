import { expect, onTestFinished, test } from 'vitest'
import { openMasterKeys } from '../../../src/foundation/sealing/master-keys.ts'
import { StoredSealedValues } from '../../../src/foundation/sealing/stored-sealed-values.ts'
import { SigningKeys } from '../../../src/resources/identity/signing-keys.ts'
import { failingReads } from '../../support/failing-reads.ts'
import { keepingLog } from '../../support/start-test-server.ts'
import { newStateDir, openTestStore } from '../../support/test-store.ts'

test('a signing key that cannot be read now is an error, and is not replaced', async () => {
  const stateDir = await newStateDir()
  const store = await openTestStore(stateDir)
  onTestFinished(() => store.close())
  const { log, logged } = keepingLog()
  const sealedValues = new StoredSealedValues(await openMasterKeys(stateDir, { now: 1 }))
  const parts = { store, sealedValues, now: Date.now, log }
  const { kid } = await new SigningKeys(parts).current('RS256')
  const failing = failingReads(store, 'sealed_values')
  await expect(new SigningKeys({ ...parts, store: failing }).current('RS256')).rejects.toThrow('disk I/O error')
  expect((await new SigningKeys(parts).current('RS256')).kid).toBe(kid)
  expect(logged).toEqual([])
})
