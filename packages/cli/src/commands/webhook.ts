import type { Webhook, WebhookDelivery } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { doToEach } from '../arguments/do-to-each.ts'
import { addGetOf } from '../arguments/get-options.ts'
import { addListOptions, type ListOptions } from '../arguments/list-options.ts'
import { collected, seconds } from '../arguments/parse.ts'
import { addRemove } from '../arguments/remove-options.ts'
import { connect } from '../connection/connect.ts'
import { print, printJson, say } from '../output/print.ts'
import { printList } from '../output/print-list.ts'
import { ageOf } from '../output/table.ts'
import { printable } from '../output/visible.ts'
import { act, UsageError } from '../verb/verb.ts'

const examples = `
Messages are signed as in Standard Webhooks. Verify them with a library from https://www.standardwebhooks.com.

Examples:
  holt webhook create https://hooks.example.com/holt --type 'runtime.*' --type build.ready
  holt webhook test wh4f…                  sends one message now, and prints the result
  holt webhook deliveries wh4f… --failed   failed deliveries
  holt webhook redeliver wh4f… wd9a…
  holt webhook set wh4f… --enable          continues where it stopped`

/** Adds `holt webhook`, which manages the destinations of events. */
export function addWebhook(program: Command): void {
  const group = program
    .command('webhook')
    .description('manage webhooks, to which events are sent')
    .addHelpText('after', examples)
  addMakers(group)
  addReaders(group)
  addSenders(group)
}

interface MakeOptions {
  readonly type?: string[]
  readonly description?: string
  readonly json?: boolean
}

interface SetOptions extends MakeOptions {
  readonly url?: string
  readonly enable?: boolean
  readonly disable?: boolean
}

function addMakers(group: Command): void {
  const types = () =>
    new Option('-t, --type <type>', 'only this type, or all of a kind: build.ready, runtime.*; repeatable').argParser(
      collected,
    )
  const create = group
    .command('create')
    .description('send new events to a URL, and print the secret, which is shown only once')
    .argument('<url>', 'an https address')
    .addOption(types())
    .option('--description <text>', 'a name or note of its purpose')
    .option('--json', 'print the webhook as JSON')
  act(create, async (url: string, { type, description, json }: MakeOptions) => {
    const webhook = await connect().webhooks.create({ url, ...dropUndefined({ types: type, description }) })
    if (json === true) printJson(webhook)
    else {
      say(`Made ${webhook.webhook_id}. Its secret is shown only once:`)
      print(webhook.secret)
    }
    return 0
  })
  const set = group
    .command('set')
    .description('change, disable or enable a webhook')
    .argument('<webhook>', 'its id')
    .option('--url <url>', 'another address')
    .addOption(types())
    .option('--description <text>', 'a name or note of its purpose')
    .option('--enable', 'continue where it stopped')
    .option('--disable', 'stop sending')
    .option('--json', 'print the webhook as JSON')
  act(set, async (id: string, { type, url, description, enable, disable, json }: SetOptions) => {
    if (enable === true && disable === true) throw new UsageError('Give one of --enable and --disable')
    const state = enable === true ? 'active' : disable === true ? 'disabled' : undefined
    const change = dropUndefined({ url, types: type, description, state } as const)
    if (Object.keys(change).length === 0)
      throw new UsageError('Give a change: --url, --type, --description, --enable or --disable')
    const webhook = await connect().webhooks.update(id, change)
    if (json === true) printJson(webhook)
    else say(`${webhook.webhook_id} is ${webhook.state}: ${typesOf(webhook)} to ${webhook.url}`)
    return 0
  })
  addRemove(group, { thing: 'webhook', description: 'delete webhooks', how: 'ids' }, (holt, text) =>
    holt.webhooks.delete(text),
  )
  const rotate = group
    .command('rotate')
    .description('make a new secret and print it; messages have both signatures for a while')
    .argument('<webhook>', 'its id')
    .option('--overlap <time>', 'how long both signatures are sent: 90, 30m, 2h, none (default: 1d)', seconds)
    .option('--json', 'print the webhook as JSON')
  act(rotate, async (id: string, { overlap, json }: { overlap?: number; json?: boolean }) => {
    const webhook = await connect().webhooks.rotateSecret(id, dropUndefined({ overlap_secs: overlap }))
    if (json === true) printJson(webhook)
    else {
      say(`The new secret is shown only once. The old one signs until ${webhook.previous_secret_until}:`)
      print(webhook.secret)
    }
    return 0
  })
}

function addReaders(group: Command): void {
  const list = addListOptions(group.command('ls').description('list webhooks'))
  act(list, async (form: ListOptions) => {
    const webhooks = await connect().webhooks.list({ limit: 100 }).all()
    return printList(webhooks, form, {
      id: (one) => one.webhook_id,
      none: 'No webhooks. Make one: holt webhook create URL',
      columns: [
        ['WEBHOOK', ({ webhook_id }) => webhook_id],
        ['STATE', ({ state }) => state],
        ['URL', ({ url }) => url],
        ['TYPES', typesOf],
        ['RETRYING', ({ retrying }) => String(retrying)],
        ['FAILING', ({ failing_since }) => ageOf(failing_since)],
        ['WHAT FOR', ({ description }) => description],
        ['WHY', ({ state_reason }) => state_reason?.message ?? ''],
      ],
    })
  })
  addGetOf(group, { thing: 'webhook', how: 'its id' }, (holt, id) => holt.webhooks.get(id))
  const deliveries = addListOptions(
    group
      .command('deliveries')
      .description('list deliveries to a webhook, newest first')
      .argument('<webhook>', 'its id')
      .option('--failed', 'only failed deliveries')
      .option('--retrying', 'only deliveries that are retried'),
  )
  act(deliveries, async (id: string, options: ListOptions & { failed?: boolean; retrying?: boolean }) => {
    if (options.failed === true && options.retrying === true)
      throw new UsageError('Give one of --failed and --retrying')
    const state = options.failed === true ? 'failed' : options.retrying === true ? 'retrying' : undefined
    const found = await connect()
      .webhooks.deliveries(id, { limit: 100, ...dropUndefined({ state } as const) })
      .all()
    return printList(found, options, {
      id: ({ delivery_id }) => delivery_id,
      none: 'Nothing.',
      columns: [
        ['DELIVERY', ({ delivery_id }) => delivery_id],
        ['STATE', ({ state: reached }) => reached],
        ['TYPE', ({ type }) => type],
        ['EVENT', ({ event_cursor }) => (event_cursor === null ? '' : String(event_cursor))],
        ['TRIES', ({ attempts }) => String(attempts.length)],
        ['ANSWER', answerOf],
        ['NEXT', ({ next_attempt_at }) => next_attempt_at ?? ''],
        ['AGE', ({ created_at }) => ageOf(created_at)],
      ],
    })
  })
}

function addSenders(group: Command): void {
  const test = group
    .command('test')
    .description('send a message of the type webhook.test now; exits 1 if it does not arrive')
    .argument('<webhook>', 'its id')
    .option('--json', 'print the delivery as JSON')
  act(test, async (id: string, { json }: { json?: boolean }) => {
    const delivery = await connect().webhooks.test(id)
    if (json === true) printJson(delivery)
    else say(`${delivery.state === 'delivered' ? 'It arrived' : 'It did not arrive'}: ${answerOf(delivery)}`)
    return delivery.state === 'delivered' ? 0 : 1
  })
  const redeliver = group
    .command('redeliver')
    .description('send deliveries again')
    .argument('<webhook>', 'its id')
    .argument('<delivery...>', 'ids of deliveries')
  act(redeliver, (id: string, deliveries: string[]) =>
    doToEach(deliveries, {}, async (delivery) => {
      const again = await connect().webhooks.redeliver(id, delivery)
      return { told: `Sending ${delivery} again as ${again.delivery_id}` }
    }),
  )
}

function answerOf({ attempts }: WebhookDelivery): string {
  const last = attempts.at(-1)
  if (last === undefined) return ''
  const status = last.status === null ? 'no answer' : String(last.status)
  return printable(`${status} in ${last.duration_ms} ms${last.error === null ? '' : `, ${last.error}`}`)
}

function typesOf({ types }: Webhook): string {
  return types.length === 0 ? 'everything' : types.join(',')
}
