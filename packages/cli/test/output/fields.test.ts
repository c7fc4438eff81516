import { expect, test } from 'vitest'
import { fieldsOf } from '../../src/output/fields.ts'

test('a resource is shown by its fields, with dotted names for nested ones', () => {
  const resource = {
    name: 'base-small',
    cpu: 1,
    size_bytes: null,
    state_reason: { code: 'lost', message: 'It is gone.' },
    env: { PATH: '/bin' },
    facts: {},
    types: ['a', 'b'],
    labels: [],
    network: { policy: { allow: [{ host: 'a.example.com' }] } },
    has_checkpoint: false,
    description: '',
  }
  expect(fieldsOf(resource)).toEqual([
    ['name', 'base-small'],
    ['cpu', '1'],
    ['size_bytes', '-'],
    ['state_reason.code', 'lost'],
    ['state_reason.message', 'It is gone.'],
    ['env.PATH', '/bin'],
    ['facts', '-'],
    ['types', 'a, b'],
    ['labels', '-'],
    ['network.policy.allow', '{"host":"a.example.com"}'],
    ['has_checkpoint', 'false'],
    ['description', '-'],
  ])
})
