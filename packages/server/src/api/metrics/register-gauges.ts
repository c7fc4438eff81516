import type { Api } from '../api.ts'
import { registerHostGauges } from './host-gauges.ts'
import { registerOpenGauges } from './open-gauges.ts'
import { registerPoolGauges } from './pool-gauges.ts'
import { registerRowGauges } from './row-gauges.ts'

/** Registers the metrics that are read from the state of the service when somebody asks. */
export function registerGauges(service: Api): void {
  const { registry } = service.metrics
  for (const register of [registerHostGauges, registerOpenGauges, registerPoolGauges, registerRowGauges])
    register(registry, service)
}
