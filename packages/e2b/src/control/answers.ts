import type { SandboxState } from './list-query.ts'

/** A sandbox as create, connect, resume and fork answer it. */
export interface Sandbox {
  readonly sandboxID: string
  readonly templateID: string
  readonly clientID: string
  readonly envdVersion: string
  readonly alias: string
  readonly envdAccessToken: string
  /** The token of its ports. Null if they are public. */
  readonly trafficAccessToken: string | null
  /** The domain of its names. Null: that of the client. */
  readonly domain: string | null
}

/** A sandbox in a list. */
export interface ListedSandbox {
  readonly sandboxID: string
  readonly templateID: string
  readonly clientID: string
  readonly alias: string
  readonly startedAt: string
  readonly endAt: string
  readonly cpuCount: number
  readonly memoryMB: number
  readonly diskSizeMB: number
  readonly state: SandboxState
  readonly envdVersion: string
  readonly metadata: Readonly<Record<string, string>>
  readonly volumeMounts: readonly never[]
}

/** A sandbox with everything about it. */
export interface SandboxDetail extends ListedSandbox {
  /** Absent for a caller who may only read. */
  readonly envdAccessToken?: string
  readonly domain: string | null
  /** Null: it reaches some hosts. */
  readonly allowInternetAccess: boolean | null
  readonly network?: unknown
  readonly lifecycle: { readonly onTimeout: 'kill' | 'pause'; readonly autoResume: boolean }
}

/** The resource use of a sandbox at a moment, in bytes and percent of all its processors. */
export interface SandboxMetric {
  readonly timestamp: string
  readonly timestampUnix: number
  readonly cpuCount: number
  readonly cpuUsedPct: number
  readonly memUsed: number
  readonly memTotal: number
  readonly memCache: number
  readonly diskUsed: number
  readonly diskTotal: number
}

/** A line of a log. */
export interface LogEntry {
  readonly timestamp: string
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: Readonly<Record<string, string>>
}
