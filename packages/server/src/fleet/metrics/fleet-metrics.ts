import { Counter, Gauge, type Registry } from 'prom-client'
import { type Duties, dutyNames } from '../../foundation/host/duties.ts'
import type { HostCondition } from '../../foundation/host/host-condition.ts'
import type { ThisHost } from '../../foundation/host/this-host.ts'
import type { HostRow, HostState } from '../../foundation/store/tables.ts'
import type { Opinion } from '../lease/judge.ts'
import { levelOf } from '../peers/protocol-range.ts'

const states: readonly HostState[] = ['joining', 'ready', 'cordoned', 'draining', 'lost', 'gone']

/** The parts of a host whose state the gauges read. */
interface FleetFacts {
  readonly lease: ThisHost
  readonly hosts: { readonly rows: readonly HostRow[]; readonly opinion: Opinion }
  readonly duties: Duties
  readonly condition: HostCondition
}

/**
 * The metrics of a host in its fleet. Every host sees the whole fleet, so a sum over hosts counts
 * each thing several times.
 */
export class FleetMetrics {
  readonly #beats: Counter
  readonly #verdicts: Counter

  constructor(registry: Registry, facts: FleetFacts) {
    const registers = [registry]
    this.#beats = new Counter({
      name: 'holt_fleet_beats_total',
      help: 'Beats of this host by their outcome: acknowledged or failed.',
      labelNames: ['outcome'],
      registers,
    })
    for (const outcome of ['acknowledged', 'failed']) this.#beats.inc({ outcome }, 0)
    this.#verdicts = new Counter({
      name: 'holt_fleet_verdicts_total',
      help: 'Verdicts that this host has passed against silent hosts.',
      registers,
    })
    registerHosts(registry, facts)
    registerOwn(registry, facts)
  }

  /** Counts a beat. */
  noteBeat(outcome: 'acknowledged' | 'failed'): void {
    this.#beats.inc({ outcome })
  }

  /** Counts a verdict. */
  noteVerdict(): void {
    this.#verdicts.inc()
  }
}

/** Registers what this host sees of all hosts. */
function registerHosts(registry: Registry, { hosts }: FleetFacts): void {
  const registers = [registry]
  new Gauge({
    name: 'holt_fleet_hosts',
    help: 'Hosts of the fleet by state, as this host sees them.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const state of states) this.set({ state }, hosts.rows.filter((row) => row.state === state).length)
    },
  })
  new Gauge({
    name: 'holt_fleet_level',
    help: 'Newest version of the protocol between hosts that every host of the fleet speaks.',
    registers,
    collect() {
      this.set(levelOf(hosts.rows) ?? 0)
    },
  })
  new Gauge({
    name: 'holt_fleet_hosts_suspect',
    help: 'Hosts that this host has not heard of for too long.',
    registers,
    collect() {
      this.set(hosts.opinion.suspects.length)
    },
  })
  new Gauge({
    name: 'holt_fleet_silence_seconds',
    help: 'Silence of the suspect host that has been silent longest; 0 if no host is suspect.',
    registers,
    collect() {
      this.set(hosts.opinion.suspects.reduce((longest, { silentMs }) => Math.max(longest, silentMs), 0) / 1000)
    },
  })
  new Gauge({
    name: 'holt_fleet_verdicts_withheld',
    help: '1 if hosts would be lost, but too many are silent to believe it.',
    registers,
    collect() {
      this.set(hosts.opinion.tooMany ? 1 : 0)
    },
  })
}

/** Registers what this host knows of itself. */
function registerOwn(registry: Registry, { lease, duties, condition }: FleetFacts): void {
  const registers = [registry]
  new Gauge({
    name: 'holt_fleet_fenced',
    help: '1 if this host has lost its lease, and lets nothing leave its runtimes.',
    registers,
    collect() {
      this.set(lease.fenced ? 1 : 0)
    },
  })
  new Gauge({
    name: 'holt_fleet_duty_held',
    help: 'The work for the whole fleet: 1 if this host does it.',
    labelNames: ['duty'],
    registers,
    collect() {
      for (const duty of dutyNames) this.set({ duty }, duties.holds(duty) ? 1 : 0)
    },
  })
  new Gauge({
    name: 'holt_clock_difference_seconds',
    help: 'Lead of the wall clock of this host over that of the database. Absent until it was measured.',
    registers,
    collect() {
      this.reset()
      if (condition.clockDifferenceMs === null) this.remove()
      else this.set(condition.clockDifferenceMs / 1000)
    },
  })
}
