import { describe, expect, test } from 'vitest'
import { ConfigError, parseConfig } from '../../src/config/config.ts'

test('has a default for everything', () => {
  expect(parseConfig({})).toMatchObject({
    stateDir: '/var/lib/holt',
    host: '127.0.0.1',
    port: 4658,
    isolation: null,
    cloud: 'aws',
    region: 'us-east-1',
  })
})

test('takes an empty variable as absent', () => {
  expect(parseConfig({ HOLT_PORT: '', HOLT_ISOLATION: '' })).toEqual(parseConfig({}))
})

test('names every wrong variable at once', () => {
  const wrong = { HOLT_PORT: '99999', HOLT_ISOLATION: 'none', HOLT_STATE_DIR: 'relative', HOLT_HOST: '0.0.0.0' }
  try {
    parseConfig(wrong)
    expect.unreachable()
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    for (const name of Object.keys(wrong)) expect((error as Error).message).toContain(`${name}: `)
  }
})

test.each(['/srv/a,b', '/srv/a:b', '/srv/a\\b', '/srv/a"b', '/srv/a\nb', 'srv'])(
  'the state directory %j is refused: mount options cannot name it',
  (dir) => {
    expect(() => parseConfig({ HOLT_STATE_DIR: dir })).toThrow('HOLT_STATE_DIR: must be an absolute path')
  },
)

test('a state directory may have spaces and letters of any script', () => {
  expect(parseConfig({ HOLT_STATE_DIR: '/srv/my höl t' }).stateDir).toBe('/srv/my höl t')
})

describe('an address to listen on', () => {
  test.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost'])('%s is taken', (host) => {
    expect(parseConfig({ HOLT_HOST: host }).host).toBe(host)
  })

  test.each(['0.0.0.0', '::', '10.0.0.1', '::ffff:127.0.0.1', '127.0.0.1.example.com', 'example.com'])(
    '%s is refused with the reason',
    (host) => {
      expect(() => parseConfig({ HOLT_HOST: host })).toThrow(/loopback.*HOLT_ALLOW_REMOTE=1/)
      expect(parseConfig({ HOLT_HOST: host, HOLT_ALLOW_REMOTE: '1' }).host).toBe(host)
    },
  )
})
