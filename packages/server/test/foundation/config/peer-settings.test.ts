import { expect, test } from 'vitest'
import { parseConfig } from '../../../src/foundation/config/config.ts'

test.each([
  ['10.1.2.3', { host: '10.1.2.3', port: 4659 }],
  ['10.1.2.3:5000', { host: '10.1.2.3', port: 5000 }],
  ['fd00::3', { host: 'fd00::3', port: 4659 }],
  ['[fd00::3]', { host: 'fd00::3', port: 4659 }],
  ['[fd00::3]:0', { host: 'fd00::3', port: 0 }],
])('the address %s for other hosts is read', (text, address) => {
  expect(parseConfig({ HOLT_PEER_ADDRESS: text }).peerAddress).toEqual(address)
})

test.each(['0.0.0.0', '[::]:4659', 'host.example.com', '10.1.2.3:99999', '10.1.2.3:', '10.1.2', '[10.1.2.3'])(
  'the address %s is refused, because other hosts could not use it',
  (text) => {
    expect(() => parseConfig({ HOLT_PEER_ADDRESS: text })).toThrow('HOLT_PEER_ADDRESS')
  },
)

test('a service without the setting has no listener for hosts', () => {
  expect(parseConfig({}).peerAddress).toBe(null)
})
