import type { GuestClient, SearchRequest } from '../../src/index.ts'

/** A request to a guest, and the answer of an honest one: JSON, or lines of it. */
export interface Asked {
  readonly name: string
  readonly answer: object | readonly object[]
  readonly ask: (guest: GuestClient, signal: AbortSignal) => Promise<unknown>
}

const process = {
  id: 'cm1',
  pid: 12,
  command: 'id',
  argv: ['/bin/id', '-u'],
  cwd: '/workspace',
  user: 'user',
  state: 'exited',
  exit_code: 143,
  signal: 'SIGTERM',
  timed_out: false,
  started_at_ms: 1_000,
  ended_at_ms: 2_000,
  cursor: 3,
  stdout_bytes: 2,
  stderr_bytes: 1,
  dropped_bytes: 0,
  stdout_dropped_bytes: 0,
  stderr_dropped_bytes: 0,
  descendants: false,
  session: 'dev',
  session_kept: true,
  label: 'a label',
  pty: { cols: 80, rows: 24 },
}

const file = {
  path: '/d/f',
  name: 'f',
  type: 'symlink',
  size_bytes: 5,
  mode: '0777',
  permissions: 'rwxrwxrwx',
  uid: 1000,
  gid: 1000,
  user: 'user',
  group: 'user',
  modified_at_ms: 1_000,
  symlink_target: '../somewhere',
  etag: '"1-2-3"',
}

const oddFile = {
  ...file,
  path: '/d/\uFFFD',
  name: '\uFFFD',
  path_base64: Buffer.from('/d/\xff', 'latin1').toString('base64'),
}
const entry = { ...file, resolved_target: '/e/f', target_type: 'file', attributes: { text: 'any text' } }
const homeFile = { account: 'user', path: '/d/./f' }
const homes = { attributePrefix: 'user.test.' }
const session = {
  name: 'dev',
  shell: '/bin/bash',
  user: 'user',
  cwd: '/workspace',
  commands: 1,
  current: 'cm1',
  started_at_ms: 1,
  used_at_ms: 2,
}

const sentence = 'what could not be done'
const search: SearchRequest = {
  path: '/d',
  globs: [],
  type: null,
  content: null,
  hidden: false,
  respect_gitignore: true,
  max_depth: 1,
  max_results: 10,
  timeout_ms: 1_000,
}
const match = {
  type: 'match',
  cursor: 1,
  path: '/d/f',
  kind: 'file',
  line: 1,
  column: 1,
  length: 1,
  text: 'a line',
  text_truncated: false,
}
const searchEnd = { type: 'end', cursor: 2, truncated: 'timeout', files_searched: 1, files_skipped: 0 }
const bind = { runtime_id: 'rt1', hostname: 'h', machine_id: '0'.repeat(32), env: {}, user: 'user', workdir: '/' }
const bound = {
  runtime_id: 'rt1',
  limits: { pids: true },
  clock: true,
  hostname: true,
  network: true,
  distinct: true,
  problems: [sentence],
}
const howToBind = { time_unix_ms: 1, entropy: '', pids_max: 1, set_clock: true, set_hostname: true }
const replace = { globs: [], hidden: false, respect_gitignore: true, path: '/d', paths: null, pattern: 'a' }
const howToReplace = { replacement: 'b', regex: false, case_sensitive: true, expected_count: null, dry_run: false }
const start = {
  id: 'cm1',
  command: 'id',
  argv: null,
  cwd: null,
  env: null,
  user: null,
  stdin: 'none' as const,
  stdin_data: null,
  timeout_ms: 0,
  ring_bytes: null,
  pty: null,
  await_reader: false,
}
const totals = { files: 1, directories: 1, symlinks: 0, size_bytes: 5 }
const items = [
  { type: 'start', cursor: 0, pid: 12 },
  { type: 'stdout', cursor: 2, data: 'aGk=' },
  { type: 'dropped', cursor: 4, dropped_bytes: 2 },
  { type: 'exit', cursor: 4, exit_code: 137, signal: 'SIGKILL', timed_out: true, session_kept: false },
  { type: 'end', cursor: 4 },
]

async function all<Item>(items: Promise<AsyncGenerator<Item>>): Promise<readonly Item[]> {
  return Array.fromAsync(await items)
}

const body = Buffer.alloc(0)
const written = { path: '/d/f', createOnly: false, body }
const part = { ...written, uploadId: 'upload-1', offset: 0, partial: true }
const upload = { upload_id: 'upload-1', path: '/d/f', offset_bytes: 5, completed: false }
const archive = { path: '/d/f', format: null, user: null, keepOwners: false, overwrite: false, merge: false, body }

/** Every request that a host sends to a guest. */
export const questions: readonly Asked[] = [
  {
    name: 'info',
    answer: { version: '0.1.0', protocol: 1, runtime_id: 'rt1', processes: 1, foreground: 1 },
    ask: (guest, signal) => guest.info(signal),
  },
  { name: 'usage', answer: { processes: 1 }, ask: (guest, signal) => guest.usage(signal) },
  { name: 'bind', answer: bound, ask: (guest, signal) => guest.bind({ ...bind, ...howToBind }, signal) },
  {
    name: 'seed',
    answer: { limits: { pids: true }, network: true, problems: [sentence] },
    ask: (guest, signal) => guest.seed({ env: {}, user: 'user', workdir: '/', pids_max: 1, network: null }, signal),
  },
  {
    name: 'network',
    answer: { network: true, problems: [sentence] },
    ask: (guest, signal) => guest.setNetwork(null, signal),
  },
  { name: 'start', answer: process, ask: (guest, signal) => guest.processes.start(start, signal) },
  { name: 'run', answer: items, ask: (guest, signal) => all(guest.processes.run(start, signal)) },
  { name: 'processes', answer: { processes: [process] }, ask: (guest, signal) => guest.processes.list(signal) },
  { name: 'process', answer: process, ask: (guest, signal) => guest.processes.get('cm1', signal) },
  { name: 'signal', answer: process, ask: (guest, signal) => guest.processes.signal('cm1', 'SIGTERM', signal) },
  { name: 'resize', answer: process, ask: (guest, signal) => guest.processes.resize('cm1', process.pty, signal) },
  { name: 'kill', answer: process, ask: (guest, signal) => guest.processes.kill('cm1', signal) },
  {
    name: 'output',
    answer: items,
    ask: (guest, signal) => all(guest.processes.readOutput('cm1', { cursor: 0, follow: true }, signal)),
  },
  {
    name: 'stdin',
    answer: { written_bytes: 1, offset: 1 },
    ask: (guest, signal) => guest.processes.writeStdin('cm1', { data: body, eof: false, offset: null }, signal),
  },
  {
    name: 'found process',
    answer: { processes: [process] },
    ask: (guest, signal) => guest.processes.find({ pid: 12 }, signal),
  },
  { name: 'home stat', answer: entry, ask: (guest, signal) => guest.homes(homes).stat(homeFile, signal) },
  {
    name: 'home list',
    answer: { entries: [entry], more: false },
    ask: (guest, signal) => guest.homes(homes).list({ path: '/d', depth: 1, limit: 10, after: null }, signal),
  },
  { name: 'home mkdir', answer: entry, ask: (guest, signal) => guest.homes(homes).makeDirectory(homeFile, signal) },
  {
    name: 'home rename',
    answer: entry,
    ask: (guest, signal) => guest.homes(homes).rename({ account: 'user', source: '/a', destination: '/d//f' }, signal),
  },
  {
    name: 'home write',
    answer: entry,
    ask: (guest, signal) => guest.homes(homes).write({ ...homeFile, attributes: null, body }, signal),
  },
  { name: 'sessions', answer: { sessions: [session] }, ask: (guest, signal) => guest.sessions.list(signal) },
  { name: 'stat', answer: file, ask: (guest, signal) => guest.files.stat('/d/f', signal) },
  {
    name: 'list',
    answer: { entries: [file, oddFile], more: false },
    ask: (guest, signal) => guest.files.list({ path: '/d', depth: 1, limit: 10, after: null }, signal),
  },
  { name: 'write', answer: file, ask: (guest, signal) => guest.content.write(written, signal) },
  { name: 'part', answer: upload, ask: (guest, signal) => guest.content.writePart(part, signal) },
  {
    name: 'last part',
    answer: file,
    ask: (guest, signal) => guest.content.writePart({ ...part, partial: false }, signal),
  },
  {
    name: 'upload',
    answer: upload,
    ask: (guest, signal) => guest.content.uploadStatus({ path: '/d/f', upload_id: 'upload-1' }, signal),
  },
  {
    name: 'mkdir',
    answer: file,
    ask: (guest, signal) => guest.files.makeDirectory({ path: '/d/f', parents: true, mode: null, user: null }, signal),
  },
  {
    name: 'move',
    answer: file,
    ask: (guest, signal) => guest.files.move({ source: '/a', destination: '/d/f', overwrite: false }, signal),
  },
  {
    name: 'copy',
    answer: file,
    ask: (guest, signal) =>
      guest.files.copy({ source: '/a', destination: '/d/f', recursive: false, overwrite: false }, signal),
  },
  {
    name: 'symlink',
    answer: file,
    ask: (guest, signal) => guest.files.makeSymlink({ path: '/d/f', target: '/a', overwrite: false }, signal),
  },
  {
    name: 'chmod',
    answer: { entry: file, changed: 1 },
    ask: (guest, signal) => guest.files.changeMode({ path: '/d/f', mode: '0644', recursive: false }, signal),
  },
  {
    name: 'chown',
    answer: { entry: file, changed: 1 },
    ask: (guest, signal) => guest.files.changeOwner({ path: '/d/f', user: 'user', recursive: false }, signal),
  },
  { name: 'ports', answer: { ports: [80, 443] }, ask: (guest, signal) => guest.ports.list(signal) },
  { name: 'port', answer: { port: 80, listening: true }, ask: (guest, signal) => guest.ports.wait(80, 0, signal) },
  { name: 'search', answer: [match, searchEnd], ask: (guest, signal) => all(guest.search.stream(search, signal)) },
  { name: 'search all', answer: [match, searchEnd], ask: (guest, signal) => guest.search.all(search, signal) },
  {
    name: 'replace',
    answer: {
      files: [{ path: '/d/f', count: 1, error: { code: 'path_not_found', message: sentence } }],
      total_count: 1,
    },
    ask: (guest, signal) => guest.search.replace({ ...replace, ...howToReplace }, signal),
  },
  {
    name: 'unpack',
    answer: { entry: file, ...totals },
    ask: (guest, signal) => guest.trees.writeArchive({ ...archive, maxEntries: 1, maxBytes: null }, signal),
  },
  {
    name: 'apply',
    answer: { ...totals, unpacked: 0 },
    ask: (guest, signal) => {
      const how = { singleFile: false, chown: null, keepOwners: false, mode: null, unpack: false }
      return guest.trees.apply({ destination: '/d', ...how, body }, signal)
    },
  },
  {
    name: 'watch',
    answer: [
      { type: 'start', cursor: 0 },
      { type: 'created', cursor: 1, path: '/d/f', directory: false },
      { type: 'moved', cursor: 2, path: '/d/g', from: '/d/f', directory: false },
      { type: 'end', cursor: 3, reason: 'removed' },
    ],
    ask: (guest, signal) => all(guest.files.watch({ path: '/d', recursive: true, cursor: null }, signal)),
  },
]
