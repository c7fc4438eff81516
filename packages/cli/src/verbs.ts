import type { Command } from 'commander'

/** Adds a verb to the program. With `passThrough` the first operand ends its own options. */
export type AddVerb = (program: Command, passThrough: boolean) => void

/**
 * Every verb below its title in the help, with the function that loads its code. A command line
 * loads only its own verb.
 */
export const verbGroups: Readonly<Record<string, Readonly<Record<string, () => Promise<AddVerb>>>>> = {
  'This machine:': {
    up: async () => (await import('./commands/up.ts')).addUp,
    down: async () => (await import('./commands/down.ts')).addDown,
    status: async () => (await import('./commands/status.ts')).addStatus,
    console: async () => (await import('./commands/console.ts')).addConsole,
    doctor: async () => (await import('./commands/doctor.ts')).addDoctor,
    export: async () => (await import('./commands/transfer.ts')).addExport,
    import: async () => (await import('./commands/transfer.ts')).addImport,
  },
  'Runtimes:': {
    run: async () => (await import('./commands/run.ts')).addRun,
    create: async () => (await import('./commands/create.ts')).addCreate,
    ls: async () => (await import('./commands/ls.ts')).addLs,
    get: async () => (await import('./commands/get.ts')).addGet,
    stats: async () => (await import('./commands/stats.ts')).addStats,
    set: async () => (await import('./commands/set.ts')).addSet,
    pause: async () => (await import('./commands/pause.ts')).addPause,
    resume: async () => (await import('./commands/resume.ts')).addResume,
    fork: async () => (await import('./commands/fork.ts')).addFork,
    snapshot: async () => (await import('./commands/snapshot.ts')).addSnapshot,
    rm: async () => (await import('./commands/rm.ts')).addRm,
  },
  'Inside a runtime:': {
    exec: async () => (await import('./commands/exec.ts')).addExec,
    code: async () => (await import('./commands/code.ts')).addCode,
    shell: async () => (await import('./commands/shell.ts')).addShell,
    attach: async () => (await import('./commands/attach.ts')).addAttach,
    ps: async () => (await import('./commands/ps.ts')).addPs,
    logs: async () => (await import('./commands/logs.ts')).addLogs,
    kill: async () => (await import('./commands/kill.ts')).addKill,
    session: async () => (await import('./commands/session.ts')).addSession,
    cp: async () => (await import('./commands/cp.ts')).addCp,
    edit: async () => (await import('./commands/edit.ts')).addEdit,
    sync: async () => (await import('./commands/sync.ts')).addSync,
    diff: async () => (await import('./commands/diff.ts')).addDiff,
    watch: async () => (await import('./commands/watch.ts')).addWatch,
    port: async () => (await import('./commands/port.ts')).addPort,
  },
  'Network and secrets:': {
    policy: async () => (await import('./commands/policy.ts')).addPolicy,
    net: async () => (await import('./commands/net.ts')).addNet,
    secret: async () => (await import('./commands/secret.ts')).addSecret,
    provider: async () => (await import('./commands/provider.ts')).addProvider,
  },
  'Events:': {
    events: async () => (await import('./commands/events.ts')).addEvents,
    webhook: async () => (await import('./commands/webhook.ts')).addWebhook,
    audit: async () => (await import('./commands/audit.ts')).addAudit,
  },
  'And:': {
    template: async () => (await import('./commands/template.ts')).addTemplate,
    mcp: async () => (await import('./commands/mcp.ts')).addMcp,
    e2b: async () => (await import('./commands/e2b.ts')).addE2b,
    key: async () => (await import('./commands/key.ts')).addKey,
    project: async () => (await import('./commands/project.ts')).addProject,
    host: async () => (await import('./commands/host.ts')).addHost,
    fleet: async () => (await import('./commands/fleet.ts')).addFleet,
    whoami: async () => (await import('./commands/whoami.ts')).addWhoami,
    completion: async () => (await import('./commands/completion.ts')).addCompletion,
  },
}

/** Loads the code of one verb; null if there is no verb of that name. */
export async function loadVerb(name: string | undefined): Promise<AddVerb | null> {
  if (name === undefined) return null
  const group = Object.values(verbGroups).find((verbs) => Object.hasOwn(verbs, name))
  return (await group?.[name]?.()) ?? null
}
