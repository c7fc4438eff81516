import { expect, test } from 'vitest'
import { parseConfig } from '../../../src/index.ts'

const fleet = { HOLT_FLEET: '1', HOLT_DATABASE_URL: 'postgres://db/holt', HOLT_PEER_ADDRESS: '10.1.2.3' }
const pod = { KUBERNETES_SERVICE_HOST: '10.96.0.1', HOLT_KUBERNETES: '1', HOLT_KUBERNETES_NODE: 'one' }
const store = { HOLT_OBJECT_STORE: 's3://holt?endpoint=http://10.1.2.9:9000&region=us-east-1' }

test('a host in a pod follows its Node', () => {
  const guard = {
    HOLT_KUBERNETES_GUARD_IMAGE: 'registry.lan:5000/holt:1',
    HOLT_KUBERNETES_EVICTIONS: '/etc/holt/evictions',
  }
  const given = { ...guard, HOLT_KUBERNETES_DRAIN_ON_CORDON: '1' }
  expect(parseConfig({ ...fleet, ...store, ...pod, ...given }).kubernetes).toEqual({
    node: 'one',
    drainOnCordon: true,
    guardImage: 'registry.lan:5000/holt:1',
    evictionsDir: '/etc/holt/evictions',
  })
})

test('a machine in no cluster follows none', () => {
  expect(parseConfig({ ...fleet, ...store, HOLT_KUBERNETES_NODE: 'one' }).kubernetes).toBeNull()
})

test.each([
  ['outside of a fleet', { ...pod }, 'set HOLT_FLEET'],
  ['without a Node', { ...fleet, ...pod, HOLT_KUBERNETES_NODE: '' }, 'set HOLT_KUBERNETES_NODE'],
  ['outside of a pod', { ...fleet, ...pod, KUBERNETES_SERVICE_HOST: '' }, 'this process is in no pod'],
])('HOLT_KUBERNETES is refused %s', (_, env, message) => {
  expect(() => parseConfig(env)).toThrow(message)
})
