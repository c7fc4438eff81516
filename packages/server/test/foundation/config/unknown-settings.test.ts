import { serviceSettings } from '@holt/protocol'
import { expect, test } from 'vitest'
import { settingNames } from '../../../src/foundation/config/config.ts'
import { settingWarnings } from '../../../src/foundation/config/unknown-settings.ts'

/** Read by the builder, from the same environment. */
const ofTheBuilder = ['HOLT_DEBIAN_MIRROR', 'HOLT_DEBIAN_SECURITY_MIRROR']

test('the table of settings has exactly those that the service reads', () => {
  const read = [...settingNames.filter((name) => name.startsWith('HOLT_')), ...ofTheBuilder]
  expect(serviceSettings.toSorted()).toEqual(read.toSorted())
})

test.each(serviceSettings)('%s is reported with the correct name', (name) => {
  const misspelt = [`${name}N`, name.slice(0, -1), `${name.slice(0, 6)}${name.slice(7)}`]
  for (const wrong of misspelt) {
    const warning = `Holt has no setting ${wrong}. Did you mean ${name}?`
    if (!(serviceSettings as readonly string[]).includes(wrong))
      expect(settingWarnings({ [wrong]: '1' }), wrong).toEqual([warning])
  }
  expect(settingWarnings({ [name]: '1' })).toEqual([])
})

test('an unknown variable is reported without a suggestion, and an empty one is not reported', () => {
  expect(settingWarnings({ HOLT_FOO: '1', HOLT_ANYTHING_ELSE: '1', HOLT_POOL_MINN: '' })).toEqual([
    'Holt has no setting HOLT_ANYTHING_ELSE.',
    'Holt has no setting HOLT_FOO.',
  ])
})

test.each(['HOLT_URL', 'HOLT_API_KEY', 'HOLT_FAILPOINTS', 'HOLT_TEST_SEED', 'HOLTER', 'PATH'])(
  '%s is not reported as misspelt',
  (name) => {
    expect(settingWarnings({ [name]: '1' })).toEqual([])
  },
)
