import { type Check, mustFix } from './check.ts'

/** The reason why a database query failed. */
export interface PostgresFailure {
  /**
   * A SQLSTATE, an errno, or the code of OpenSSL or Node for a certificate error. Null if there is
   * none.
   */
  readonly code: string | null
  readonly message: string
}

/** The parts of an address that may be shown. The password is not among them. */
interface Place {
  readonly host: string
  readonly isLocal: boolean
  readonly port: string
  readonly user: string
  readonly database: string
}

/**
 * Returns the advice for a database that cannot be used. It has no command if the work is for
 * another machine or the database's owner.
 */
export function checkOfFailure({ code, message }: PostgresFailure, url: string): Check {
  const place = placeOf(url)
  const { say, type = null } = adviceOn({ code, message }, place)
  return mustFix('store', `the database of HOLT_DATABASE_URL cannot be used: ${message}; ${say}`, type)
}

interface Advice {
  readonly say: string
  /** A command. */
  readonly type?: string | null
}

/**
 * Returns the advice for a code of https://www.postgresql.org/docs/current/errcodes-appendix.html
 * or errno(3).
 */
function adviceOn({ code, message }: PostgresFailure, place: Place): Advice {
  const { host, port, user, database } = place
  switch (code) {
    case 'ECONNREFUSED':
    case 'ENOENT':
      if (place.isLocal) return { say: 'no server listens there', type: 'systemctl start postgresql' }
      return { say: `no server listens on port ${port} of ${host}: start PostgreSQL there, or correct the address` }
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return { say: `no address of ${host} is found: correct the name, or check the name servers of this machine` }
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'timeout':
      return { say: `${host} cannot be reached: check the network and the firewalls on the way` }
    case '28P01':
      return { say: `correct the password of ${user} in HOLT_DATABASE_URL, or give ${user} that password` }
    case '28000':
      return { say: `the server does not let ${user} in from here: check its pg_hba.conf, and that the role exists` }
    case '3D000':
      return { say: `there is no database ${database}`, type: createDatabase(place) }
    case '42501':
      return { say: `${user} lacks the right for it: make ${user} the owner of the database ${database}` }
    case '53300':
      return { say: 'all its connections are taken: raise max_connections, or end others' }
    case '57P03':
      return { say: 'it is starting or stopping: check again in a moment' }
  }
  if (code === 'tls')
    return { say: `take sslmode out of HOLT_DATABASE_URL, or turn ssl on in the postgresql.conf of ${host}` }
  if (isOfCertificate(code))
    return {
      say: `add sslrootcert=FILE with the authority of ${host} to HOLT_DATABASE_URL, or correct the certificate`,
    }
  return { say: message.includes('password') ? `add the password of ${user} to HOLT_DATABASE_URL` : 'check its log' }
}

/**
 * Returns the command that creates a database on its own machine. Returns null if it is remote, or
 * if the names need quotes in a shell.
 */
function createDatabase({ isLocal, port, user, database }: Place): string | null {
  const isPlain = [port, user, database].every((name) => /^[a-z0-9_][\w-]*$/i.test(name))
  return isLocal && isPlain ? `runuser -u postgres -- createdb -p ${port} -O ${user} ${database}` : null
}

/** Returns true for a code of https://nodejs.org/api/tls.html#x509-certificate-error-codes. */
function isOfCertificate(code: string | null): boolean {
  return code !== null && /CERT|SIGNATURE|ISSUER|^ERR_(?:TLS|SSL)|^EPROTO$/.test(code)
}

function placeOf(url: string): Place {
  const { hostname, port, username, pathname, searchParams } = new URL(url)
  // As in libpq, a parameter has precedence over the part before the path.
  const host = searchParams.get('host') || decodeURIComponent(hostname) || 'localhost'
  const user = decodeURIComponent(username) || 'postgres'
  return {
    host,
    isLocal: /^(?:localhost|127\..*|\[?::1\]?|\/.*)$/.test(host),
    port: port || '5432',
    user,
    database: decodeURIComponent(pathname.slice(1)) || user,
  }
}
