import { Holt } from '@holt/sdk'
import { expect, test } from 'vitest'
import { startTestServer } from '../../server/test/support/start-test-server.ts'
import { addRules, type Target } from '../src/network/add-rules.ts'
import { changedLabels } from '../src/runtime/changed-labels.ts'

const hosts = Array.from({ length: 8 }, (_, at) => `h${at}.example.com`)

test.each<Target['type']>(['policy', 'own'])('rules that many add at once all stay, in the target %s', async (type) => {
  const server = await startTestServer()
  const { key } = await server.makeKey('admin')
  const holt = new Holt({ url: server.server.url, apiKey: key })
  const { policy_id: policyId } = await holt.policies.create({ name: 'shared', allow: [{ host: 'old.example.com' }] })
  const runtimeId = await server.makeRuntime({ network_policy: 'shared' })
  const target: Target = type === 'policy' ? { type, policyId } : { type }
  await Promise.all(hosts.map((host) => addRules(holt, { runtimeId, target, rules: [{ host, ports: [443] }] })))
  const { network_policy, policy } = await (await holt.runtimes.get(runtimeId)).network.get()
  expect(network_policy?.type).toBe(type === 'policy' ? 'stored' : 'inline')
  expect(policy?.allow.map(({ host }) => host).toSorted()).toEqual([...hosts, 'old.example.com'])
})

test('a policy that changes again and again is an error in the end, not a loop', async () => {
  const server = await startTestServer()
  const { key } = await server.makeKey('admin')
  const holt = new Holt({ url: server.server.url, apiKey: key })
  const { policy_id: policyId } = await holt.policies.create({ name: 'shared' })
  let reads = 0
  const read = holt.policies.get.bind(holt.policies)
  holt.policies.get = async (...given) => {
    const found = await read(...given)
    reads += 1
    await holt.policies.replace(policyId, { include: reads % 2 === 0 ? [] : ['npm'] })
    return found
  }
  const adding = addRules(holt, {
    runtimeId: 'rt',
    target: { type: 'policy', policyId },
    rules: [{ host: 'a.example.com', ports: [443] }],
  })
  await expect(adding).rejects.toMatchObject({ code: 'precondition_failed' })
  expect(reads).toBe(10)
})

test('only labels that a person has changed are sent', () => {
  const before = { team: 'search', ticket: 'A-1', same: 'x' }
  const after = [
    ['same', 'x'],
    ['team', 'mail'],
    ['new', 'y'],
  ] as const
  expect(changedLabels(before, after)).toEqual({ ticket: null, team: 'mail', new: 'y' })
  expect(changedLabels(before, Object.entries(before))).toEqual({})
})
