import { type DiffEntry, type Host, makeId, type NetworkDecision, systemTemplateSizes } from '@holt/protocol'

/** The base template, ready. */
export function readyTemplate(): Record<string, unknown> {
  const [size] = systemTemplateSizes
  return {
    template_id: makeId('template'),
    name: size.name,
    tag: 'latest',
    kind: 'system',
    state: 'ready',
    state_reason: null,
    progress: null,
    source: 'test',
    image_digest: null,
    cpu: size.cpu,
    memory_mib: size.memoryMiB,
    disk_mib: size.diskMiB,
    size_bytes: 1,
    env: {},
    user: 'user',
    workdir: '/workspace',
    facts: {},
    start_cmd: null,
    ready_cmd: null,
    on_restore: null,
    starts: null,
    ignored: [],
    ports: [],
    labels: {},
    build_id: null,
    has_checkpoint: false,
    created_at: now(),
    updated_at: now(),
  }
}

/** The host of the service, ready. */
export function readyHost(): Host {
  return {
    host_id: makeId('host'),
    name: 'machine',
    status: 'ready',
    reasons: [],
    version: '1.0.0',
    engine: 'host 1.0.0',
    node: '22.18.0',
    kernel: '6.1.0',
    arch: 'x64',
    started_at: '2030-01-01T00:00:00.000Z',
    isolation: { gvisor: { available: true, runner: 'runsc 1', can_checkpoint: true, reason: null, fix: null } },
    capacity: null,
    pool_min: 2,
    pool_max: 64,
    pools: [],
    checks: [{ name: 'memory', status: 'ok', message: '8192 MiB', fix: null }],
    fleet: null,
    checked_at: '2030-01-01T00:00:00.000Z',
  }
}

/** The metrics of a runtime with a little work. */
export function sampleUsage(): Record<string, unknown> {
  return {
    at: now(),
    cpu: { used_usec: 1_250_000, rate: 0.25 },
    memory: { used_bytes: 96 * 2 ** 20 },
    disk: { used_bytes: 3 * 2 ** 20 },
    processes: 4,
    network: { sent_bytes: 2048, received_bytes: 5 * 2 ** 20 },
  }
}

/** A runtime that runs, made as a create asks. */
export function runningRuntime(
  body: Readonly<Record<string, unknown>>,
  template: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return {
    runtime_id: makeId('runtime'),
    name: body.name ?? null,
    state: 'running',
    state_reason: null,
    template: { template_id: template.template_id, name: template.name },
    snapshot_id: null,
    parent_id: null,
    cloud: 'aws',
    region: 'us-east-1',
    spread: null,
    isolation: body.isolation ?? 'gvisor',
    cpu: body.cpu ?? 1,
    memory_mib: body.memory ?? 1024,
    disk_mib: body.disk ?? 4096,
    env: body.env ?? {},
    metadata: body.metadata ?? {},
    secrets: [],
    ports: [],
    secrets_inside: false,
    network_policy: null,
    timeout_secs: body.timeout_secs ?? null,
    on_timeout: body.on_timeout ?? 'pause',
    idle_timeout_secs: body.idle_timeout_secs ?? null,
    auto_resume: body.auto_resume ?? true,
    expires_at:
      typeof body.timeout_secs === 'number' ? new Date(Date.now() + body.timeout_secs * 1000).toISOString() : null,
    created_at: now(),
    started_at: now(),
    paused_at: null,
    updated_at: now(),
  }
}

/** This moment as the API writes it. */
export function now(): string {
  return new Date().toISOString()
}

/** A shell session that has had one command. */
export function sampleSession(name: string): Record<string, unknown> {
  const at = now()
  return {
    name,
    shell: '/bin/bash',
    user: 'user',
    cwd: '/workspace',
    commands: 1,
    command_id: null,
    created_at: at,
    last_used_at: at,
  }
}

/** Returns an added file of a diff. */
export function sampleChange(path: string, isShown: boolean): DiffEntry {
  return {
    path,
    change: 'added',
    type: 'file',
    previous_type: null,
    size_bytes: 1,
    previous_size_bytes: null,
    mode: '0644',
    previous_mode: null,
    uid: 0,
    previous_uid: null,
    gid: 0,
    previous_gid: null,
    patch: isShown ? 'shown' : null,
  }
}

/** A connection to api.example.com that a policy denied. */
export function deniedConnection(more: Partial<NetworkDecision> = {}): NetworkDecision {
  return {
    type: 'connect',
    cursor: 1,
    at: '2026-01-01T00:00:00.000Z',
    name: 'api.example.com',
    address: null,
    port: 443,
    allowed: false,
    rule: 'no_rule',
    method: null,
    path: null,
    bytes_sent: null,
    bytes_received: null,
    process: null,
    secret: null,
    ...more,
  }
}
