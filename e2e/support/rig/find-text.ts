import type { Arrivals } from './records.ts'

/** Returns the places at which a text has arrived: `HOST header NAME`, `HOST path`, `HOST body`. Plain HTTP is `http://HOST`. Basic credentials are searched, too. */
export function placesOf(text: string, { requests }: Arrivals): string[] {
  const places = requests.flatMap(({ sni, path, rawHeaders, body }) => {
    const fields: [string, string][] = []
    for (let at = 0; at + 1 < rawHeaders.length; at += 2)
      fields.push([(rawHeaders[at] ?? '').toLowerCase(), rawHeaders[at + 1] ?? ''])
    const host = sni ?? `http://${fields.find(([name]) => name === 'host')?.[1]}`
    return [
      // HTTP/2 has the path among its fields as well.
      ...fields
        .filter(([name, field]) => !name.startsWith(':') && reads(field).includes(text))
        .map(([name]) => `${host} header ${name}`),
      ...(path.includes(text) ? [`${host} path`] : []),
      ...(body.includes(text) ? [`${host} body`] : []),
    ]
  })
  return [...new Set(places)].sort()
}

function reads(field: string): string {
  const credentials = /^Basic (.+)$/.exec(field)?.[1]
  return credentials === undefined ? field : Buffer.from(credentials, 'base64').toString()
}
