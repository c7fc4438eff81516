import type { FleetConfig } from '../../src/foundation/config/fleet-settings.ts'
import { parseConfig } from '../../src/index.ts'

/**
 * Returns the settings of a fleet in which no host counts as silent, whatever a test does with the
 * clocks.
 */
export function unhurriedFleet(): FleetConfig {
  const { fleet } = parseConfig({
    HOLT_FLEET: '1',
    HOLT_DATABASE_URL: 'postgres://holt@localhost/holt',
    HOLT_PEER_ADDRESS: '127.0.0.1',
    HOLT_OBJECT_STORE: 'file:///srv/objects',
  })
  if (fleet === null) throw new Error('the settings are those of a fleet')
  const endless = 1e12
  const times = { suspectMs: endless, fenceMs: 10 * endless, verdictMs: 20 * endless, dutyMs: 10 * endless }
  return { ...fleet, ...times, beatMs: 100, readGapMs: endless }
}
