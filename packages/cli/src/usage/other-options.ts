const publish = 'A port needs no option. Print its address: holt port RUNTIME PORT'
const volumes = 'There are no volumes. Copy files: holt cp FILE RUNTIME:/PATH. Keep a directory the same: holt sync'
const labels = 'Labels are metadata: -m KEY=VALUE, --metadata KEY=VALUE'
const json = 'Print a field: --json | jq -r .state'
const filter = 'Filter by --state, --template, --name or --metadata'
const newest = 'How many of the newest: -n COUNT, --limit COUNT'
const lastLines = 'How many of the last lines: -n COUNT, --tail COUNT'
const noTerminal = 'For a terminal: holt shell RUNTIME, or holt exec -it RUNTIME -- COMMAND'

/** The advice for an option of docker or another tool, for any verb that has no such option. */
export const insteadOfOption: Readonly<Record<string, string>> = {
  '-p': publish,
  '--publish': publish,
  '--expose': publish,
  '-v': volumes,
  '--volume': volumes,
  '--mount': volumes,
  '-l': labels,
  '--label': labels,
  '--labels': labels,
  '--tag': labels,
  '--format': json,
  '-o': json,
  '--output': json,
  '--filter': filter,
  '--image': 'Name a template: -t TEMPLATE. Make one of an image: holt template build --from-image IMAGE',
  '--from-snapshot': 'Name it with --snapshot SNAPSHOT',
  '--net': 'Network access: --network POLICY, --allow HOST or --include PRESET',
  '--policy': 'Network access: --network POLICY, --allow HOST or --include PRESET',
  '--cpus': 'Processors: --cpu COUNT',
  '--workdir': 'Working directory: -w PATH, --cwd PATH',
  '--entrypoint': 'Write the program and its arguments after --',
  '--privileged': 'Runtimes have no privileges outside. As root inside: holt exec -u root RUNTIME -- COMMAND',
  '--detach': 'Start a command and leave it: holt exec -d RUNTIME -- COMMAND',
  '-d': 'Start a command and leave it: holt exec -d RUNTIME -- COMMAND',
  '-i': noTerminal,
  '--interactive': noTerminal,
  '--tty': noTerminal,
  '--rm': 'holt run deletes its runtime by itself; --no-rm keeps it. Delete one: holt rm RUNTIME',
  '--restart': 'A runtime is not restarted by itself. Options that end it: --timeout, --on-timeout, --idle-timeout',
}

/** The advice for an option of one verb. */
export const insteadOfOptionOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': { '-v': 'The version: holt --version' },
  create: {
    '-d': 'holt create returns as soon as the runtime runs: leave -d out',
    '--detach': 'holt create returns as soon as the runtime runs: leave --detach out',
    '-i': 'A new runtime has no terminal yet: holt shell RUNTIME',
  },
  events: { '--tail': newest, '--lines': newest },
  audit: { '--tail': newest, '--lines': newest, '-f': 'Follow new events: holt events -f' },
  stats: { '--no-stream': 'holt stats shows them once, and continuously with -f: leave --no-stream out' },
  cp: { '-a': 'A copy with -r keeps modes and times anyway', '-f': 'To replace the destination: --overwrite' },
  logs: { '--limit': lastLines, '--lines': lastLines },
  exec: { '--detach': 'Start it and leave it: -d, --background' },
  fork: {
    '-n': 'The number of children: -c COUNT, --count COUNT',
    '--number': 'The number of children: -c COUNT, --count COUNT',
  },
  set: {
    '-n': 'A runtime keeps the name of its start: holt create -n NAME',
    '--name': 'A runtime keeps the name of its start: holt create -n NAME',
  },
  ps: { '-a': 'holt ps lists all commands anyway, also those that have ended: leave -a out' },
}
