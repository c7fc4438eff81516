import type { EgressGateway } from '../resources/network/runtime-networks.ts'
import type { Runtimes } from '../runtimes/runtimes.ts'
import type { Builder } from './builder.ts'
import { BuildsUnderWay } from './builds-under-way.ts'
import { collect } from './collect.ts'
import { Retakes } from './retakes.ts'

/** The handle of builds. */
export interface Builds extends Runtimes {
  readonly builds: BuildsUnderWay
  readonly retakes: Retakes
}

/** Makes the parts of builds. The collector can run after this call. */
export function openBuilds(
  runtimes: Runtimes,
  { builder, gateway }: { readonly builder: Builder; readonly gateway: EgressGateway },
): Builds {
  const { store, log, config, now, collector } = runtimes
  const builds: Builds = {
    ...runtimes,
    builds: new BuildsUnderWay(() => builds, { store, log, config, now, builder, gateway }),
    retakes: new Retakes(),
  }
  collector.collectWith(() => collect(builds))
  return builds
}
