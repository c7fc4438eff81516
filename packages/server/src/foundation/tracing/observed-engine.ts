import type { Abilities, Checkpoints, Disks, Engine, Fallback, Freezer, ImageStore, RuntimeSpec } from '@holt/engine'
import type { Metrics } from '../metrics/metrics.ts'
import type { SpanFacts } from '../request/active-span.ts'
import { observeLink } from './observed-link.ts'
import type { Tracer } from './tracer.ts'

/** The destinations of an engine's measurements. */
interface ObserverParts {
  readonly metrics: Metrics
  readonly tracer: Tracer
  /** Called once for each runtime that was booted in place of a restore. */
  readonly onFallback: (spec: RuntimeSpec, fallback: Fallback) => void
}

/** Returns an engine whose verbs are measured and traced. */
export function observeEngine(engine: Engine, parts: ObserverParts): Engine {
  const observe = observerOf(parts)
  const abilities = {
    images: once((images: ImageStore) => observeImages(images, observe)),
    checkpoints: once((checkpoints: Checkpoints) => observeCheckpoints(checkpoints, observe)),
    disks: once((disks: Disks) => observeDisks(disks, observe)),
    freezer: once((freezer: Freezer) => observeFreezer(freezer, observe)),
  } satisfies { readonly [Name in keyof Abilities]?: (ability: Abilities[Name]) => Abilities[Name] }
  return {
    describe: () => engine.describe(),
    ensure: (spec, signal) => {
      const facts = { 'holt.isolation': spec.isolation, 'holt.restores': spec.checkpointId !== null }
      return observe('ensure', { 'holt.runtime_id': spec.id, ...facts }, async () => {
        // A repeated `ensure` of a running runtime is not another fallback.
        const ranBefore = spec.checkpointId !== null && (await engine.inspect(spec.id))?.state === 'running'
        await engine.ensure(spec, signal)
        if (spec.checkpointId === null || ranBefore) return
        const fallback = (await engine.inspect(spec.id))?.fallback ?? null
        if (fallback !== null) parts.onFallback(spec, fallback)
      })
    },
    observe: (signal) => engine.observe(signal),
    inspect: (id) => engine.inspect(id),
    dial: async (id, signal) => {
      const link = await engine.dial(id, signal)
      return parts.tracer.isOn ? observeLink(link, parts.tracer) : link
    },
    remove: (id, signal) => observe('remove', { 'holt.runtime_id': id }, () => engine.remove(id, signal)),
    ability: (name) => {
      const ability = engine.ability(name)
      if (ability === null || !(name in abilities)) return ability
      return abilities[name as keyof typeof abilities](ability as never) as never
    },
    close: () => engine.close(),
  }
}

type Observe = <Result>(verb: string, facts: SpanFacts, work: () => Promise<Result>) => Promise<Result>

function observerOf({ metrics, tracer }: Pick<ObserverParts, 'metrics' | 'tracer'>): Observe {
  return async (verb, facts, work) => {
    const begunAt = performance.now()
    let result = 'failed'
    try {
      const done = await tracer.span(`engine ${verb}`, facts, work)
      result = 'done'
      return done
    } finally {
      metrics.engine.noteVerb({ verb, result, seconds: (performance.now() - begunAt) / 1000 })
    }
  }
}

/** Caches the observed form of an ability, which is made on first use. */
function once<Ability extends object>(observed: (ability: Ability) => Ability): (ability: Ability) => Ability {
  const known = new WeakMap<Ability, Ability>()
  return (ability) => {
    const made = known.get(ability) ?? observed(ability)
    known.set(ability, made)
    return made
  }
}

function observeImages(images: ImageStore, observe: Observe): ImageStore {
  return {
    format: images.format,
    import: (tar, signal, options) => observe('import', {}, () => images.import(tar, signal, options)),
    has: (digest) => images.has(digest),
    open: (digest) => images.open(digest),
    list: () => images.list(),
    remove: (digest) => images.remove(digest),
  }
}

function observeCheckpoints(checkpoints: Checkpoints, observe: Observe): Checkpoints {
  return {
    take: (runtime, checkpointId, signal, options) => {
      const facts = { 'holt.runtime_id': runtime, 'holt.leave_running': options?.leaveRunning === true }
      return observe('take', facts, () => checkpoints.take(runtime, checkpointId, signal, options))
    },
    usable: (checkpointId, options) => checkpoints.usable(checkpointId, options),
    list: () => checkpoints.list(),
    remove: (checkpointId) => checkpoints.remove(checkpointId),
  }
}

function observeDisks(disks: Disks, observe: Observe): Disks {
  return {
    canGrow: disks.canGrow,
    usedBytes: (id) => disks.usedBytes(id),
    grow: (id, diskMiB, signal) => observe('grow', { 'holt.runtime_id': id }, () => disks.grow(id, diskMiB, signal)),
  }
}

function observeFreezer(freezer: Freezer, observe: Observe): Freezer {
  return {
    freeze: (id) => observe('freeze', { 'holt.runtime_id': id }, () => freezer.freeze(id)),
    thaw: (id) => observe('thaw', { 'holt.runtime_id': id }, () => freezer.thaw(id)),
  }
}
