import type { Snapshot, SnapshotFilter, SnapshotKind } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { findRuntime, findRuntimeId } from '../arguments/find-runtime.ts'
import { addGetOf } from '../arguments/get-options.ts'
import { addListOptions, type ListOptions } from '../arguments/list-options.ts'
import { addRemove } from '../arguments/remove-options.ts'
import { connect } from '../connection/connect.ts'
import { amount } from '../copy/transfer-line.ts'
import { print, printJson, say } from '../output/print.ts'
import { printList } from '../output/print-list.ts'
import { ageOf, mib } from '../output/table.ts'
import { whileWaiting } from '../output/while-waiting.ts'
import { act } from '../verb/verb.ts'

const examples = `
A snapshot of kind \`memory\` has processes, memory and files: a runtime of it continues from that state. One of kind \`filesystem\` has the files only: a runtime of it boots, in any
class and any size that the files fit in. Neither contains the value of a secret.

Examples:
  holt snapshot create mine -n before
  holt create --snapshot before            can be repeated
  holt snapshot create mine --record-files -n start   then: holt diff mine --since start
  id=$(holt snapshot create mine --kind filesystem)
  holt template build -t web --from-snapshot $id --start-cmd 'python app.py'
  holt snapshot ls --of mine
  holt snapshot rm before`

/** Adds `holt snapshot`, which manages the snapshots of runtimes. */
export function addSnapshot(program: Command): void {
  const group = program
    .command('snapshot')
    .description('manage snapshots, from which runtimes and templates are made')
    .addHelpText('after', examples)
  const create = group
    .command('create')
    .description('take a snapshot of a runtime and print its id; the runtime continues')
    .argument('<runtime>', 'id, beginning of an id, or name')
    .option('-n, --name <name>', 'a name, unique among the snapshots')
    .addOption(kindOption('its content (default: memory; in the class container, filesystem)'))
    .option('--record-files', 'let holt diff compare with this memory snapshot; takes time by the number of files')
    .option('--json', 'print the snapshot as JSON')
  act(create, takeSnapshot)
  addReaders(group)
  addRemove(
    group,
    {
      thing: 'snapshot',
      description: 'delete snapshots; runtimes that were made from them keep running',
      how: 'names or ids',
    },
    (holt, text) => holt.snapshots.delete(text),
  )
}

interface TakeOptions {
  readonly name?: string
  readonly kind?: SnapshotKind
  readonly recordFiles?: boolean
  readonly json?: boolean
}

async function takeSnapshot(text: string, { name, kind, recordFiles, json }: TakeOptions): Promise<number> {
  const runtime = await findRuntime(connect(), text)
  const take = () => runtime.snapshot(dropUndefined({ name, kind, record_files: recordFiles }))
  const snapshot = await whileWaiting(`Taking a snapshot of ${text}`, take)
  if (json === true) printJson(snapshot)
  else {
    say(`Kept ${snapshot.kind === 'memory' ? 'memory and files' : 'the files'} of ${text}, ${sizeOf(snapshot)}`)
    print(snapshot.snapshot_id)
  }
  return 0
}

interface SnapshotListOptions extends ListOptions {
  readonly of?: string
  readonly kind?: SnapshotKind
}

function addReaders(group: Command): void {
  const list = addListOptions(
    group
      .command('ls')
      .description('list snapshots, newest first')
      .option('--of <runtime>', 'only those of this runtime: id, beginning of an id, or name')
      .addOption(kindOption('only of this kind')),
  )
  act(list, listSnapshots)
  addGetOf(group, { thing: 'snapshot', how: 'name or id' }, (holt, text) => holt.snapshots.get(text))
}

async function listSnapshots({ of, kind, ...form }: SnapshotListOptions): Promise<number> {
  const holt = connect()
  const runtime_id = of === undefined ? undefined : await findRuntimeId(holt, of)
  const filter: SnapshotFilter = { limit: 100, ...dropUndefined({ kind, runtime_id }) }
  const snapshots = await holt.snapshots.list(filter).all()
  return printList(snapshots, form, {
    id: ({ snapshot_id }) => snapshot_id,
    none: 'No snapshots. Take one: holt snapshot create RUNTIME',
    columns: [
      ['SNAPSHOT', ({ snapshot_id }) => snapshot_id],
      ['NAME', ({ name }) => name ?? ''],
      ['KIND', ({ kind: held }) => held],
      ['RECORD', recordOf],
      ['STATE', ({ state }) => state],
      ['OF', ({ runtime_id }) => runtime_id],
      ['TEMPLATE', ({ template }) => template.name],
      ['MEMORY', ({ memory_mib }) => mib(memory_mib)],
      ['DISK', ({ disk_mib }) => mib(disk_mib)],
      ['SIZE', sizeOf],
      ['AGE', ({ created_at }) => ageOf(created_at)],
      ['WHY', ({ state_reason }) => state_reason?.message ?? ''],
    ],
  })
}

/** Returns whether `holt diff` can compare with a memory snapshot. It always can with files. */
function recordOf({ record_files }: Snapshot): string {
  return record_files === null ? '' : record_files ? 'yes' : 'no'
}

function sizeOf({ size_bytes }: Snapshot): string {
  return size_bytes === null ? '' : amount(size_bytes)
}

function kindOption(description: string): Option {
  return new Option('--kind <kind>', description).choices(['memory', 'filesystem'])
}
