import type { IncomingHttpHeaders } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { type Scope, scopes } from '@holt/protocol'
import { z } from 'zod'
import type { Vouch } from '../../foundation/request/vouch.ts'
import type { Owned } from '../../foundation/wire/forwarder.ts'
import { hostProtocol, type ProtocolRange, protocolHeader } from '../peers/protocol-range.ts'

/** The maximum number of characters of the facts about a client. */
const maxVouchLength = 8 * 1024

/** The first version in which unknown facts are ignored. */
const tolerantFrom = 2

const Session = z.object({ digest: z.string().max(128), endsAt: z.number() })

const Credential = z.object({
  keyId: z.string().max(64),
  keyVersion: z.int(),
  session: Session.exactOptional(),
})

const CallerFacts = Credential.extend({
  projectId: z.string().max(64),
  keyName: z.string(),
  scopes: z.array(z.string().max(64)),
})

const VisitFacts = z.object({
  projectId: z.string().max(64),
  by: z.enum(['key', 'token', 'public']),
  credential: Credential.nullable(),
  expiresAt: z.number().nullable(),
  generation: z.int(),
})

const Facts = z.object({
  address: z.string().max(64).nullable(),
  isSecure: z.boolean(),
  caller: CallerFacts.nullable(),
  visit: VisitFacts.nullable(),
  surface: z.literal('e2b').exactOptional(),
})

const WireHeaders = z.object({
  [protocolHeader]: z.coerce.number().int(),
  'holt-hops': z.literal('1'),
  'holt-deadline-ms': z.coerce.number().int().min(1).max(60_000),
  'holt-owned': z.string().regex(/^(?:runtime|build|host) \w{1,64} \w{1,64}(?: (?:request|resume))?$/),
  'holt-caller': z.string().max(maxVouchLength),
  'x-request-id': z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
})

/** A forwarded request as its headers on the wire describe it. */
export interface Forwarded {
  readonly vouch: Vouch
  readonly owned: Owned
  /** The time in which the entry expects the request to be accepted. */
  readonly deadlineMs: number
}

/** Returns the headers on the wire of a forwarded request. `PeerLinks` adds the version. */
export function vouchHeaders({
  vouch,
  owned,
  deadlineMs,
}: Omit<Forwarded, 'vouch'> & { readonly vouch: Omit<Vouch, 'entryHostId'> }): Record<string, string> {
  const { requestId, address, isSecure, caller, visit, surface } = vouch
  const facts = {
    address,
    isSecure,
    caller: caller === null ? null : { ...caller, scopes: [...caller.scopes] },
    visit,
    ...(surface === undefined ? {} : { surface }),
  }
  return {
    'holt-hops': '1',
    'holt-deadline-ms': String(deadlineMs),
    'holt-owned': [owned.type, owned.projectId, owned.id, ...(owned.wakes === undefined ? [] : [owned.wakes])].join(
      ' ',
    ),
    'holt-caller': Buffer.from(JSON.stringify(facts)).toString('base64url'),
    'x-request-id': requestId,
  }
}

/**
 * Reads the headers on the wire of a forwarded request. Returns null if they have another form, or
 * are of a version outside of `range`. The project of the caller or visit must be that of the owned
 * thing.
 */
export function readVouch(
  headers: IncomingHttpHeaders,
  entryHostId: string,
  range: ProtocolRange = hostProtocol,
): Forwarded | null {
  const wire = WireHeaders.safeParse(headers)
  if (!wire.success) return null
  const version = wire.data[protocolHeader]
  if (version < range.min || version > range.max) return null
  const told = parseJson(Buffer.from(wire.data['holt-caller'], 'base64url').toString())
  const facts = Facts.safeParse(told)
  if (!facts.success || (version < tolerantFrom && !isAllKnown(told, facts.data))) return null
  const { caller, visit, address, isSecure, surface } = facts.data
  const [type, projectId = '', id = '', wakes] = wire.data['holt-owned'].split(' ', 4)
  if ((caller === null) === (visit === null) || (caller ?? visit)?.projectId !== projectId) return null
  return {
    vouch: {
      entryHostId,
      requestId: wire.data['x-request-id'],
      address,
      isSecure,
      caller: caller === null ? null : { ...caller, scopes: new Set(caller.scopes.filter(isScope)) },
      visit,
      ...(surface === undefined ? {} : { surface }),
    },
    owned: {
      type: type as Owned['type'],
      projectId,
      id,
      ...(wakes === undefined ? {} : { wakes: wakes as NonNullable<Owned['wakes']> }),
    },
    deadlineMs: wire.data['holt-deadline-ms'],
  }
}

/** Returns true if a message has no more than what was read of it. */
function isAllKnown(told: unknown, read: z.infer<typeof Facts>): boolean {
  return isDeepStrictEqual(told, read) && (read.caller?.scopes ?? []).every(isScope)
}

/** A scope of a newer host allows nothing that this host knows. */
function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // The schema refuses it.
  }
}
