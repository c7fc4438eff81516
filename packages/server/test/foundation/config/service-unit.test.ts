import { expect, test } from 'vitest'
import { unitOf } from '../../../src/foundation/config/service-unit.ts'

const session = '0::/user.slice/user-0.slice/session-3.scope\n'
const service = '0::/system.slice/holtd.service\n'
const versionOne = [
  '9:memory:/system.slice/holtd.service',
  '4:cpu,cpuacct:/system.slice/holtd.service',
  '1:name=systemd:/system.slice/holtd.service',
].join('\n')

test.each([
  ['the program of a unit', service, '70', 'holtd.service'],
  ['that of a unit of another name', '0::/system.slice/holt-eu.1@x.service\n', '70', 'holt-eu.1@x.service'],
  ['that of a unit under version 1', versionOne, '70', 'holtd.service'],
  ['a process of cron, in its service', '0::/system.slice/cron.service\n', '12', null],
  ['a process of a login session', session, undefined, null],
  ['a process of a login session whose shell systemd runs', session, '70', null],
  ['a process in a group below that of a service', '0::/system.slice/docker.service/abc\n', '70', null],
  ['a unit whose name a shell would read in another way', '0::/system.slice/a\\x2db.service\n', '70', null],
  ['a process of no groups', '', '70', null],
])('%s', (_, cgroup, execPid, unit) => {
  expect(unitOf({ pid: 70, execPid, cgroup })).toBe(unit)
})
