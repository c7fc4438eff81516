import type { FleetConfig } from '../../foundation/config/fleet-settings.ts'
import { isJudged } from '../../foundation/host/host-row.ts'
import type { HostRow } from '../../foundation/store/tables.ts'

/** The columns of a host's row that the judge reads. */
type JudgedRow = Pick<HostRow, 'host_id' | 'epoch' | 'beat' | 'state'>

/** A read of the table of hosts, by the judge's own `CLOCK_BOOTTIME`, in milliseconds. */
export interface HostsRead {
  readonly startedAt: number
  readonly endedAt: number
  readonly rows: readonly JudgedRow[]
}

/** The last beat of a host that the judge has seen, and when it saw it first. */
interface SeenBeat {
  readonly epoch: number
  readonly beat: number
  readonly since: number
}

/** The memory of a judge between two reads. */
export interface Watch {
  /** The end of the last read; null: it has read nothing. */
  readonly readAt: number | null
  readonly beats: ReadonlyMap<string, SeenBeat>
}

/** A host that has been silent for a while. */
interface SilentHost {
  readonly hostId: string
  readonly epoch: number
  readonly beat: number
  readonly silentMs: number
}

/** The opinion of a judge after a read. */
export interface Opinion {
  /** The hosts that are suspect. */
  readonly suspects: readonly SilentHost[]
  /** The hosts that are lost. A verdict still compares epoch and beat. */
  readonly lost: readonly SilentHost[]
  /** True if hosts would be lost, but so many are silent that the fault is elsewhere. */
  readonly tooMany: boolean
}

/** The memory of a judge that has just begun. */
export const nothingSeen: Watch = { readAt: null, beats: new Map() }

/** So many silent hosts are believed, however few hosts there are. */
const believed = 2

/** The share of the fleet above which silence is not believed. */
const mostSilent = 1 / 10

type Times = Pick<FleetConfig, 'suspectMs' | 'verdictMs' | 'readGapMs'>

/**
 * Looks at the hosts as they were read. A beat counts from the end of the read that first showed it
 * to the start of this one, so silence is never overestimated. After a gap between reads every
 * count begins again: the judge may have been cut off itself.
 */
export function look(
  watch: Watch,
  read: HostsRead,
  times: Times,
): { readonly watch: Watch; readonly opinion: Opinion } {
  const live = read.rows.filter((row) => !isJudged(row))
  const hadGap = watch.readAt === null || !isWithin(read.endedAt - watch.readAt, times.readGapMs)
  const beats = new Map(
    live.map((row) => {
      const known = hadGap ? undefined : watch.beats.get(row.host_id)
      const isSame = known !== undefined && known.epoch === row.epoch && known.beat === row.beat
      return [row.host_id, isSame ? known : { epoch: row.epoch, beat: row.beat, since: read.endedAt }]
    }),
  )
  const silent = [...beats].map(([hostId, { epoch, beat, since }]) => {
    return { hostId, epoch, beat, silentMs: Math.max(0, read.startedAt - since) }
  })
  const suspects = silent.filter(({ silentMs }) => silentMs >= times.suspectMs)
  const overdue = silent.filter(({ silentMs }) => silentMs >= times.verdictMs)
  const isBelieved = suspects.length <= Math.max(believed, live.length * mostSilent)
  return {
    watch: { readAt: read.endedAt, beats },
    opinion: {
      suspects,
      lost: isBelieved ? overdue : [],
      tooMany: !isBelieved && overdue.length > 0,
    },
  }
}

function isWithin(ms: number, mostMs: number): boolean {
  return ms >= 0 && ms <= mostMs
}
