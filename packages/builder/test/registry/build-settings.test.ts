import { expect, test } from 'vitest'
import { buildSettingsOf } from '../../src/registry/build-settings.ts'

const config = {
  architecture: 'amd64',
  user: '',
  workdir: '/',
  env: [],
  entrypoint: [],
  command: [],
  shell: [],
  onBuild: [],
  labels: {},
  ports: [],
}

test('the settings of an image have a size limit', () => {
  expect(buildSettingsOf({ ...config, onBuild: ['RUN make'] })).toMatchObject({ onBuild: ['RUN make'] })
  const long = Array.from({ length: 1000 }, () => 'x'.repeat(1000))
  for (const more of [{ onBuild: long }, { shell: long }, { ports: long }])
    expect(() => buildSettingsOf({ ...config, ...more })).toThrow(/have more than/)
})
