import { type Address, addressOf, parseAddress } from '../addresses/parse-address.ts'
import type { SyntheticAddresses } from '../addresses/synthetic-addresses.ts'
import type { Decision, EffectivePolicy } from '../contract/gateway-contract.ts'
import { ruleForName } from '../policy/decide.ts'
import type { LookupResult } from '../resolver/resolver.ts'
import { type DnsQuery, readQuery } from './read-query.ts'
import { type DnsAnswer, rcode, recordType, writeAnswer, writeMalformed } from './write-answer.ts'

/** The parts of a runtime that answer queries. */
export interface NameService {
  readonly policy: EffectivePolicy
  readonly addresses: SyntheticAddresses
  /** Resolves a name upstream. It is called only for names that a rule allows. */
  lookup(name: string): Promise<LookupResult>
  log(decision: Pick<Decision, 'name' | 'allowed' | 'rule'>): void
}

const internetClass = 1

/**
 * The refusal of a name: the server is unable to respond because the domain is on a list (RFC 8914,
 * 4.16).
 */
const blocked: DnsAnswer = { code: rcode.refused, extendedError: 15 }

/**
 * Answers one DNS message. A name that no rule allows is refused without an upstream query. An
 * allowed name has one synthetic IPv4 address and no other record. There is no IPv6, and no HTTPS
 * record, because its keys would encrypt the server name. Returns null for a message without a
 * header.
 */
export async function answerQuery(message: Buffer, service: NameService): Promise<Buffer | null> {
  const query = readQuery(message)
  if (query === null) return null
  if ('malformed' in query) {
    service.log({ name: null, allowed: false, rule: 'bad_request' })
    return writeMalformed(query)
  }
  if ((query.ednsVersion ?? 0) > 0) return writeAnswer(query, { code: rcode.badVersion })
  return writeAnswer(query, await decideQuery(query, service))
}

async function decideQuery(query: DnsQuery, service: NameService): Promise<DnsAnswer> {
  const reverse = query.type === recordType.PTR ? reverseAddress(query.name) : null
  const known = reverse === null ? null : service.addresses.nameOf(reverse)
  if (known !== null) return { code: rcode.ok, record: { type: 'PTR', name: known } }

  const { name } = query
  const rule = name === null || query.class !== internetClass ? null : ruleForName(service.policy, name)
  if (name === null || rule === null) {
    service.log({ name: query.shownName, allowed: false, rule: 'no_rule' })
    return blocked
  }
  return query.type === recordType.A ? addressAnswer(name, rule.name, service) : { code: rcode.ok }
}

async function addressAnswer(name: string, rule: string, service: NameService): Promise<DnsAnswer> {
  const found = await service.lookup(name)
  if (found.type === 'failed') {
    service.log({ name, allowed: false, rule: 'resolver_failed' })
    return { code: rcode.failed }
  }
  if (found.type === 'no_such_name' || found.type === 'no_address') {
    service.log({ name, allowed: false, rule: 'name_not_found' })
    return { code: found.type === 'no_such_name' ? rcode.noSuchName : rcode.ok }
  }
  const address = parseAddress(service.addresses.assign(name) ?? '')
  if (address === null) {
    service.log({ name, allowed: false, rule: 'limit' })
    return { code: rcode.failed }
  }
  service.log({ name, allowed: true, rule })
  return { code: rcode.ok, record: { type: 'A', address } }
}

/** Returns the IPv4 address of a name under in-addr.arpa (RFC 1035, 3.5), or null. */
function reverseAddress(name: string | null): Address | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.in-addr\.arpa$/.exec(name ?? '')
  if (match === null) return null
  const octets = match.slice(1).map(Number).reverse()
  return octets.every((octet) => octet <= 255) ? addressOf(Uint8Array.from(octets)) : null
}
