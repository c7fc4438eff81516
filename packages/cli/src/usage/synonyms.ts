/** The verbs for synonyms in docker, fly, e2b or kubectl. */
export const verbFor: Readonly<Record<string, string>> = {
  list: 'ls',
  inspect: 'get',
  show: 'get',
  info: 'get',
  describe: 'get',
  suspend: 'pause',
  unpause: 'resume',
  wake: 'resume',
  delete: 'rm',
  destroy: 'rm',
  remove: 'rm',
  terminate: 'rm',
  'kill-runtime': 'rm',
  ssh: 'shell',
  connect: 'shell',
  console: 'shell',
  bash: 'shell',
  sh: 'shell',
  top: 'stats',
  usage: 'stats',
  images: 'template ls',
  image: 'template',
  build: 'template build',
  pull: 'template pull',
  clone: 'fork',
  restore: 'create --snapshot SNAPSHOT',
  commit: 'snapshot create',
  checkpoint: 'snapshot create',
  save: 'snapshot create',
  url: 'port',
  expose: 'port',
  forward: 'port --forward',
  'port-forward': 'port --forward',
  copy: 'cp',
  scp: 'cp',
  rsync: 'sync',
  new: 'create',
  spawn: 'create',
  launch: 'create',
  version: '--version',
  update: 'set',
  jobs: 'ps',
  network: 'net',
  firewall: 'net',
  egress: 'net',
  acl: 'policy',
  token: 'key',
  serve: 'up',
  replace: 'edit',
  sed: 'edit',
  history: 'events',
}

/** The verbs for the service, if no runtime is named, and for a runtime. */
export const serviceOrRuntime: Readonly<Record<string, { readonly service: string; readonly runtime: string }>> = {
  start: { service: 'up', runtime: 'resume' },
  stop: { service: 'down', runtime: 'pause' },
  halt: { service: 'down', runtime: 'pause' },
}

/** The names of the documentation, which the service has. */
export const documentationNames: readonly string[] = ['docs', 'doc', 'documentation', 'manual', 'man', 'guide']

const noNoun = 'A runtime needs no word before the verb: holt create, holt ls, holt rm RUNTIME'
const files = 'List files: holt exec RUNTIME -- ls -la /DIR. Copy them: holt cp -r RUNTIME:/DIR DIR'

/** The advice for a verb that Holt has under no other name. */
export const insteadOf: Readonly<Record<string, string>> = {
  login: 'There is no login: set HOLT_URL and HOLT_API_KEY. Show the key in use: holt whoami',
  logout: 'There is no login: unset HOLT_API_KEY. Show the key in use: holt whoami',
  auth: 'There is no login: set HOLT_URL and HOLT_API_KEY. Show the key in use: holt whoami',
  cat: 'Print a file of a runtime: holt cp RUNTIME:/FILE -',
  mkdir: 'Run it inside: holt exec RUNTIME -- mkdir -p /DIR',
  file: files,
  files,
  fs: files,
  read: 'Print a file of a runtime: holt cp RUNTIME:/FILE -',
  write: 'Copy it in from stdin: holt cp - RUNTIME:/FILE',
  sandbox: noNoun,
  sandboxes: noNoun,
  sbx: noNoun,
  runtime: noNoun,
  runtimes: noNoun,
  container: noNoun,
  machine: noNoun,
  upload: 'Copy it in: holt cp -r FILE RUNTIME:/PATH',
  download: 'Copy it out: holt cp -r RUNTIME:/PATH FILE',
  tag: 'A build has the tag of its name: holt template build -t NAME:TAG',
  prune: 'Ended runtimes need no room. Delete the others: holt rm --all',
  rename: 'A runtime keeps the name of its start: holt create -n NAME',
  restart:
    'Stop and continue a runtime: holt pause RUNTIME, then holt resume RUNTIME. For a new one: holt create. The service: holt down && holt up',
  wait: 'holt exec and holt run wait for their command. For a server inside: holt port RUNTIME PORT --wait 30',
  open: 'Open a port in the browser: holt port RUNTIME PORT --open',
  config: 'Settings are environment variables: holt --help. Show those of the service: holt status',
  volume: 'There are no volumes: holt cp copies, holt sync follows changes, and holt snapshot create keeps the disk',
}

/** The candidates for a command of a group, the best first. The group has one of them or none. */
export const groupVerbsFor: Readonly<Record<string, readonly string[]>> = {
  list: ['ls'],
  inspect: ['get', 'ls'],
  show: ['get', 'ls'],
  info: ['get', 'ls'],
  describe: ['get', 'ls'],
  delete: ['rm'],
  remove: ['rm'],
  destroy: ['rm'],
  revoke: ['rm'],
  new: ['create', 'set', 'build'],
  add: ['create', 'set', 'build'],
  create: ['set', 'build'],
  put: ['set', 'create'],
  update: ['set', 'build'],
  edit: ['set', 'build'],
  get: ['ls'],
  set: ['create', 'build'],
}

/** The command of a group that is suggested for an unknown word, such as the name of a runtime. */
export const mainVerbOf: Readonly<Record<string, string>> = {
  snapshot: 'create',
  template: 'build',
  net: 'get',
  session: 'ls',
}

/** The advice for a command of a group. */
export const insteadInGroup: Readonly<Record<string, string>> = {
  'snapshot restore': 'Make a runtime of it: holt create --snapshot SNAPSHOT',
  'snapshot fork': 'Make a runtime of it: holt create --snapshot SNAPSHOT',
  'snapshot save': 'Take it: holt snapshot create RUNTIME -n NAME',
  'snapshot take': 'Take it: holt snapshot create RUNTIME -n NAME',
  'net allow': 'This replaces the policy, so give all rules: holt net set RUNTIME --allow HOST --allow HOST',
  'net deny': 'This replaces the policy, so give all rules: holt net set RUNTIME --allow HOST --allow HOST',
  'secret get': 'Values are never shown. List the secrets: holt secret ls',
  'secret show': 'Values are never shown. List the secrets: holt secret ls',
}
